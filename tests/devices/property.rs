//! Property tests of candle's ops with proptest: a drawn case keeps every promise, or fails in a way that is known.
//!
//! `PROPTEST_CASES` and `PROPTEST_RNG_SEED` choose how many cases and which. A failure is minimized by our own minimizer, as
//! proptest could only change the number of a case. `UPDATE_CORPORA=1` keeps new failures as known ones.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::{ProptestConfig, Strategy, any};
use proptest::test_runner::{RngSeed, TestCaseError, TestError, TestRunner};
use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::examine::{Examined, Patience, examine};
use snuffer::exec::{Deadline, Executor, Limits};
use snuffer::generate::Mode;
use snuffer::hunt::Sample;
use snuffer::ops::{self, Op};
use snuffer::oracle::{Kind, Need, OracleName, Signature, Verdict};
use snuffer::settle::{Settings, canonical, settle};
use snuffer::store::Finding;

use crate::kept::regressions;
use crate::known::{self, family};
use crate::plan::{Test, tests};

/// How many cases of each op and mode, unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 64;

/// A test for each family of ops and mode, under the name of the family.
macro_rules! families {
    ($($family:ident),+) => {
        mod valid {
            $(pub fn $family(device: super::Device) { super::check(stringify!($family), super::Mode::Valid, device); })+
        }
        mod adversarial {
            $(pub fn $family(device: super::Device) { super::check(stringify!($family), super::Mode::Adversarial, device); })+
        }
        const FAMILIES: &[&str] = &[$(stringify!($family)),+];
        pub const VALID: &[Test] = { use valid::{$($family),+}; tests![Each: $($family),+] };
        pub const ADVERSARIAL: &[Test] = { use adversarial::{$($family),+}; tests![Each: $($family),+] };
    };
}

// The largest family first: two threads end at the same time.
families!(
    tensor, attention, cache, create, custom, encoding, layer, loss, op, optim, quantized, random, relation, rotary,
    sequence, state
);

pub const TESTS: &[Test] = tests![
    Once: every_op_is_in_a_family_of_property_tests;
    Each: every_known_failure_still_happens
];

fn every_op_is_in_a_family_of_property_tests() {
    let families: BTreeSet<&str> =
        ops::ALL.iter().map(|op| family(op.name)).filter(|family| *family != "canary").collect();
    assert_eq!(families, FAMILIES.iter().copied().collect());
}

fn limits() -> Limits {
    // A loop that appends single bytes for ever fills this in two seconds: whether it hangs or runs out of memory must not depend on
    // the speed of the machine.
    Limits { deadline: Duration::from_secs(20), memory_mib: 256, ..Limits::default() }
}

fn is_updating() -> bool {
    std::env::var_os("UPDATE_CORPORA").is_some()
}

/// How many cases, and which: always the same ones, unless the variables of proptest say otherwise.
fn config() -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = CASES;
    }
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = RngSeed::Fixed(1);
    }
    config
}

/// Draws cases of every op of `family`, and fails if one breaks a promise in a way that is not known.
fn check(family_name: &str, mode: Mode, device: Device) {
    let executor = RefCell::new(Executor::start(&[device], &limits().into()).expect("a worker starts"));
    let witness = Witness::of(device);
    let kept = regressions().into_iter().filter_map(|(_, kept)| kept.signature);
    let kept: BTreeSet<Signature> = kept.map(|signature| signature.on_one_device()).collect();
    let mut new = Vec::new();
    for op in ops::ALL.iter().filter(|op| family(op.name) == family_name) {
        let own = known::of(op.name).into_iter().filter(|failure| failure.is_on(device));
        let mut known: BTreeSet<Signature> =
            own.map(|failure| failure.signature.clone()).chain(kept.iter().cloned()).collect();
        while let Some((case, signature)) = unknown(op, mode, &executor, &witness, &known) {
            match settled(&mut executor.borrow_mut(), case, &signature, device) {
                Some((shown, _)) if !is_updating() => {
                    new.push(shown);
                    break;
                }
                Some((_, plainest)) => drop(known.insert(plainest)),
                None => eprintln!("flaky, and no failure of this test: {signature} on {device}"),
            }
            known.insert(signature);
        }
    }
    assert!(
        new.is_empty(),
        "{} new failures of {family_name} on {device}; `UPDATE_CORPORA=1` keeps them as known\n\n{}",
        new.len(),
        new.join("\n")
    );
}

/// The simulated device beside a GPU. It checks each access, which a GPU does not.
struct Witness(Option<RefCell<Executor>>);

impl Witness {
    /// The witness of `device`, if that is a GPU.
    fn of(device: Device) -> Self {
        let start = || RefCell::new(Executor::start(&[Device::Sim(0)], &limits().into()).expect("a worker starts"));
        Self(matches!(device, Device::Cuda(_)).then(start))
    }

    /// Whether a GPU may do anything with the case, because it accesses memory in a way that only checkers notice. The tests of
    /// the simulated device say whether that is known.
    fn only_checkers_tell(&self, case: &Case) -> bool {
        self.0.as_ref().is_some_and(|executor| {
            let seen = executor.borrow_mut().observe(case, Deadline::Full).expect("the harness survives");
            seen.iter().any(|seen| seen.only_checkers_tell().is_some())
        })
    }
}

/// A case of `op` that fails in a way that is not `known`, if one is drawn.
fn unknown(
    op: &'static Op,
    mode: Mode,
    executor: &RefCell<Executor>,
    witness: &Witness,
    known: &BTreeSet<Signature>,
) -> Option<(Case, Signature)> {
    // One number is one case, and a number close to it is another one: there is nothing to shrink.
    let numbers = any::<u64>().no_shrink();
    let failed = RefCell::new(None);
    let result = TestRunner::new(config()).run(&numbers, |number| {
        let Sample { drawn, .. } = Sample::nth(&[op], &[mode], number, 0);
        let executor = &mut *executor.borrow_mut();
        for signature in failures(executor, op, &drawn.case, known) {
            let (case, signature) = canonical(executor, drawn.case.clone(), signature).expect("the harness survives");
            let is_known = is_among(known, &signature) || is_known_elsewhere(&signature, &case, op);
            if !is_known && !witness.only_checkers_tell(&case) {
                let reason = signature.to_string();
                *failed.borrow_mut() = Some((case, signature));
                return Err(TestCaseError::fail(reason));
            }
        }
        Ok(())
    });
    match result {
        Ok(()) => None,
        Err(TestError::Fail(..)) => failed.into_inner(),
        Err(TestError::Abort(why)) => panic!("{}: {why}", op.name),
    }
}

/// Whether the failure of a sequence is that of one of its calls, whose own op knows it.
fn is_known_elsewhere(signature: &Signature, case: &Case, op: &Op) -> bool {
    let known = known::of(&signature.op).iter().map(|known| known.signature.clone()).collect();
    signature.op != op.name && (is_among(&known, signature) || is_read_around_a_view(signature, case, &known))
}

/// How `case` fails, apart from what is `known`.
fn failures(executor: &mut Executor, op: &'static Op, case: &Case, known: &BTreeSet<Signature>) -> Vec<Signature> {
    let is_known = |signature: &Signature| is_among(known, signature) || is_read_around_a_view(signature, case, known);
    let is_new = |verdict: &Verdict| !verdict.signatures(op.name).iter().all(is_known);
    let Examined { verdict, .. } =
        examine(executor, op, case, Patience::ShortThenFull(&is_new)).expect("the harness survives");
    verdict.signatures(op.name).into_iter().filter(|signature| !is_known(signature)).collect()
}

/// Whether a failure needs no less than a known one.
fn is_among(known: &BTreeSet<Signature>, signature: &Signature) -> bool {
    known.iter().any(|known| known.covers(signature))
}

/// Whether two runs differ as the op is known to read around a view, where anything may lie.
fn is_read_around_a_view(signature: &Signature, case: &Case, known: &BTreeSet<Signature>) -> bool {
    let reads = |known: &Signature| known.op == signature.op && depends_on_memory(known);
    signature.oracle == OracleName::Determinism && !case.is_contiguous() && known.iter().any(reads)
}

/// Whether a failure shows only with certain values around a view.
fn depends_on_memory(signature: &Signature) -> bool {
    signature.kind == Kind::WrongValue && signature.needs(Need::View)
}

/// Minimizes a failure, and says how to replay it, and its signature then. `None` if it does not happen in a new process.
fn settled(executor: &mut Executor, case: Case, signature: &Signature, device: Device) -> Option<(String, Signature)> {
    let settings = Settings { time: Duration::from_secs(10), tries: 2, ..Settings::default() };
    let settled = settle(executor, case, signature, settings).expect("the harness survives");
    let Finding { case, signature, .. } = settled.finding?;
    if is_updating() {
        known::keep(&signature, &case, device);
    }
    let text = case.to_text();
    let shown =
        format!("{signature}\n  replay: target/debug/snuffer replay - --device {device} <<'case'\n{text}case\n");
    Some((shown, signature))
}

/// A known failure that no longer happens would hide the next one.
fn every_known_failure_still_happens(device: Device) {
    let mut executor = Executor::start(&[device], &limits().into()).expect("a worker starts");
    let witness = Witness::of(device);
    let mut gone = Vec::new();
    for op in ops::ALL {
        for known in known::of(op.name).into_iter().filter(|known| known.is_on(device)) {
            let seen = failures(&mut executor, op, &known.case, &BTreeSet::new());
            let is_seen = seen.contains(&known.signature) || depends_on_memory(&known.signature);
            if is_seen || witness.only_checkers_tell(&known.case) {
                continue;
            }
            if let Some(now) = seen.iter().find(|now| is_updating() && known.signature.is_alike(now)) {
                known.sign(now);
                continue;
            }
            gone.push(format!("{}\n{}", known.signature, known.case.to_text()));
            if is_updating() {
                known.forget(device);
            }
        }
    }
    assert!(
        gone.is_empty() || is_updating(),
        "{} known failures do not happen on {device}; `UPDATE_CORPORA=1` removes them\n\n{}",
        gone.len(),
        gone.join("\n")
    );
}
