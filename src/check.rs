//! Checks an op that a program defines, from a test of that program: draws cases, runs them in workers, judges them, and fails with a
//! minimized case.

mod kept;
mod text;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, ensure};

use crate::case::Case;
#[cfg(feature = "cuda")]
use crate::device::Device;
use crate::examine::{Original, Patience, examine};
use crate::exec::{Executor, OwnWorker, WorkerSpec, own_devices, serve_if_asked};
use crate::fuzz::InProcess;
#[cfg(feature = "cuda")]
use crate::fuzz::watch_device;
use crate::generate::{Mode, drawn, sample};
use crate::ops::{Op, own};
use crate::oracle::{Evidence, Kind, Signature, Verdict, Violation, judge};
use crate::outcome::{Observation, Outcome};
use crate::report::sentence;
use crate::settle::{Judged, Settings};
use crate::store::Finding;

/// How much a check does.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many cases it draws.
    pub cases: u64,
    /// Which cases.
    pub seed: u64,
    /// The folder in which it keeps a failing case, and whose cases it runs first.
    pub keep: Option<PathBuf>,
}

impl Options {
    /// As `PROPTEST_CASES` and `PROPTEST_RNG_SEED` say, else 256 cases of the seed 0; failing cases of `op` are kept beside the
    /// program's Cargo.toml.
    pub fn of_environment(op: &Op) -> anyhow::Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        Ok(Self {
            cases: number("PROPTEST_CASES", 256)?,
            seed: number("PROPTEST_RNG_SEED", 0)?,
            keep: manifest.map(|folder| folder.join("snuffer-regressions").join(op.name)),
        })
    }
}

/// How a check ended.
#[derive(Debug)]
pub enum Ended {
    /// Without a failure; what ran, in a line.
    Passed(String),
    /// With this report.
    Failed(String),
}

/// Checks `op` in a `#[test]`: nothing panics, hangs, faults or races; devices, layouts and runs agree; gradients match finite
/// differences; and the floats of each dtype match the call in `f64`, or the reference of the definition.
///
/// Cases run in processes of their own, which are this test once more. Half of the cases keep to the definition, half break it in one or
/// two ways. On a machine with a GPU, or under `cargo snuffer test`, cases run on that device, too, if the feature `cuda` is on.
///
/// `PROPTEST_CASES` and `PROPTEST_RNG_SEED` choose how many cases and which. A failing case is minimized and kept in the folder
/// `snuffer-regressions` beside your Cargo.toml; later checks run it first. An op that rejects views, but takes the same values in
/// contiguous tensors, does not fail.
///
/// # Panics
///
/// If a case fails, with the case, what happens, and how to run it again. Also if no case was accepted: nothing has been checked then.
#[track_caller]
pub fn check(op: &'static Op) {
    match Options::of_environment(op).and_then(|options| run(op, &options)) {
        Ok(Ended::Passed(line)) => println!("{line}"),
        Ok(Ended::Failed(report)) => panic!("{report}"),
        Err(error) => panic!("cannot check {}: {error:#}", op.name),
    }
}

/// Checks `op` as [`check`] does, and returns how that ended. An `Err` says what kept it from running.
pub fn run(op: &'static Op, options: &Options) -> anyhow::Result<Ended> {
    if serve_if_asked(op.name) || std::env::var_os(LISTS).is_some() {
        return Ok(Ended::Passed("this process checks nothing".to_string()));
    }
    Check::start(op)?.run(options)
}

/// Runs the case of `op` that a fuzzer's `bytes` mean in this process, on the devices of [`check`]. libFuzzer is guided by the branches of
/// your code, and by those of the kernels on the simulated device. The body of a target of cargo-fuzz:
///
/// ```no_run
/// # let op = snuffer::define("exp").floats("x", "any..").call(|args| args.tensor("x")?.exp());
/// # let data: &[u8] = &[];
/// snuffer::check::fuzz(op, data);
/// ```
///
/// # Panics
///
/// If the case fails, with the case and what is wrong.
pub fn fuzz(op: &'static Op, bytes: &[u8]) {
    let case = drawn(op.name, op.generate, Mode::Adversarial, bytes, None).case;
    if !own::has_a_caller(&case) || op.check(&case).is_err() {
        return;
    }
    let seen = in_process(&case).unwrap_or_else(|error| panic!("cannot run {}: {error:#}", op.name));
    let verdict = judge(&Evidence::new(op, &case, &seen));
    if let Some(violation) = verdict.violations().iter().find(|violation| is_failure(violation)) {
        let signature = violation.signature(op.name);
        panic!("{}\n\n  {}\n\n{}", sentence(&signature), violation.detail, case.to_text());
    }
}

/// Runs a case on the devices of this process, which it opens once.
fn in_process(case: &Case) -> anyhow::Result<Vec<Observation>> {
    static OPENED: Mutex<Option<InProcess>> = Mutex::new(None);
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if opened.is_none() {
        let devices = InProcess::open(&own_devices())?;
        #[cfg(feature = "cuda")]
        if devices.devices().any(|device| matches!(device, Device::Sim(_))) {
            watch_device()?;
        }
        *opened = Some(devices);
    }
    opened.as_mut().context("it was just opened")?.observe(case)
}

/// True if a violation fails a check. Rejecting a view does not, as long as the same values are accepted in contiguous tensors.
fn is_failure(violation: &Violation) -> bool {
    violation.kind != Kind::Limitation
}

struct Check {
    op: &'static Op,
    executor: Executor,
}

/// The results of the cases so far.
#[derive(Default)]
struct Counts {
    ran: u64,
    accepted: u64,
    with_gradients: u64,
    refusal: Option<String>,
    /// The first case of each failure, and the detail of its violation.
    failures: BTreeMap<Signature, (Case, String)>,
}

impl Check {
    fn start(op: &'static Op) -> anyhow::Result<Self> {
        let own = OwnWorker {
            program: std::env::current_exe().context("cannot find the path of this test")?,
            args: args_to_this_test(op)?,
            op: op.name,
        };
        let spec = WorkerSpec { own: Some(own), ..WorkerSpec::default() };
        let executor = Executor::start(&own_devices(), &spec)?;
        Ok(Self { op, executor })
    }

    fn run(&mut self, options: &Options) -> anyhow::Result<Ended> {
        let keep = options.keep.as_deref();
        let mut counts = Counts::default();
        for (path, case) in kept::cases(keep)? {
            self.examine(&case, &mut counts)?;
            if let Some(finding) = self.gravest(&counts)? {
                return Ok(Ended::Failed(text::report(self.op, &finding, &counts.others(&finding), Some(&path))));
            }
        }
        for number in 0..options.cases {
            let mode = if number % 2 == 0 { Mode::Valid } else { Mode::Adversarial };
            let case = sample(self.op.name, self.op.generate, mode, options.seed, number).case;
            if own::has_a_caller(&case) && self.op.check(&case).is_ok() {
                self.examine(&case, &mut counts)?;
            }
        }
        if let Some(finding) = self.gravest(&counts)? {
            let path = kept::keep(keep, &finding)?;
            return Ok(Ended::Failed(text::report(self.op, &finding, &counts.others(&finding), path.as_deref())));
        }
        if counts.accepted == 0 {
            return Ok(Ended::Failed(text::vacuous(self.op, counts.ran, counts.refusal.as_deref())));
        }
        Ok(Ended::Passed(text::passed(self.op, &self.executor.devices(), &counts)))
    }

    fn examine(&mut self, case: &Case, counts: &mut Counts) -> anyhow::Result<()> {
        let examined = examine(&mut self.executor, self.op, case, Patience::SHORT_THEN_FULL)?;
        counts.ran += 1;
        if let Some(seen) = examined.observations.first() {
            match &seen.outcome {
                Outcome::Returned(_) => counts.accepted += 1,
                Outcome::Rejected(refusal) => counts.refusal = Some(refusal.message.clone()),
                _ => {}
            }
            counts.with_gradients += u64::from(!seen.slopes.is_empty());
        }
        if let Verdict::Fail(violations) = &examined.verdict {
            for violation in violations.iter().filter(|violation| is_failure(violation)) {
                counts
                    .failures
                    .entry(violation.signature(self.op.name))
                    .or_insert_with(|| (case.clone(), violation.detail.clone()));
            }
        }
        Ok(())
    }

    /// The worst failure that happens again in new processes, minimized.
    fn gravest(&mut self, counts: &Counts) -> anyhow::Result<Option<Finding>> {
        let mut failures: Vec<_> = counts.failures.iter().collect();
        failures.sort_by_key(|(signature, _)| signature.rank());
        for (signature, (case, _)) in failures {
            let (mut original, settings) = (Original::default(), Settings::default());
            let mut judged = Judged { executor: &mut self.executor, original: &mut original, settings };
            let (case, signature) = judged.canonical(case.clone(), signature.clone())?;
            if let Some(finding) = judged.settle(case, &signature, None)?.finding {
                return Ok(Some(finding));
            }
        }
        Ok(None)
    }
}

impl Counts {
    /// The failures besides `finding`, one of each oracle and kind.
    fn others(&self, finding: &Finding) -> Vec<(&Signature, &str)> {
        let parts = |signature: &Signature| (signature.oracle, signature.kind.clone());
        let mut seen = vec![parts(&finding.signature)];
        let mut others = Vec::new();
        for (signature, (_, detail)) in &self.failures {
            if !seen.contains(&parts(signature)) {
                seen.push(parts(signature));
                others.push((signature, detail.as_str()));
            }
        }
        others
    }
}

/// Set in a process that only lists its tests. Without it, a program without a test harness would check again, and list again.
const LISTS: &str = "SNUFFER_LISTS";

/// The arguments that make this program run only the test that checks `op`. The test harness gives each thread the name of its test. With a
/// single test thread there is no such name, so the test is the function in which the call was defined. A program without a test harness
/// runs again with its own arguments.
fn args_to_this_test(op: &Op) -> anyhow::Result<Vec<OsString>> {
    let exactly = |test: &str| [test, "--exact", "--nocapture", "--include-ignored"].map(OsString::from).to_vec();
    if let Some(test) = std::thread::current().name().filter(|name| *name != "main") {
        return Ok(exactly(test));
    }
    let mut list = Command::new(std::env::current_exe()?);
    let list = list.args(["--list", "--format", "terse"]).env(LISTS, "1").stdin(Stdio::null()).output()?;
    let listed = String::from_utf8_lossy(&list.stdout).into_owned();
    let function = own::function(op.name);
    let mut tests = listed.lines().filter_map(|line| line.strip_suffix(": test")).peekable();
    if tests.peek().is_none() {
        return Ok(std::env::args_os().skip(1).collect());
    }
    ensure!(tests.any(|test| test == function), "which test is this? Run it with RUST_TEST_THREADS=2");
    Ok(exactly(function))
}

/// The value of an environment variable that is a number.
fn number(variable: &str, default: u64) -> anyhow::Result<u64> {
    std::env::var(variable).map_or(Ok(default), |text| {
        text.parse().with_context(|| format!("{variable} is {text:?}, but must be a whole number"))
    })
}
