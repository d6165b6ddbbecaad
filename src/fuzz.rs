//! The fuzz targets. An input *is* a case in its text form: people can read what a fuzzer keeps, `snuffer replay` runs it, and
//! `snuffer import` turns it into findings.

mod captured_stderr;
#[cfg(feature = "cuda")]
mod device_counters;
mod fatal;
mod in_process;
mod known;
mod session;

use std::cell::RefCell;
use std::sync::OnceLock;

use anyhow::{Context, ensure};
use fast_glob::{glob_match, validate};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::case::{Backward, Case};
use crate::exec::protocol::{Hello, Reply, Request, decode, encode, read_frame};
use crate::generate::{Draw, EDITS, Mode, VIOLATIONS, random, spliced};
use crate::hunt::Sample;
use crate::ops::{self, Op, sequence};

#[cfg(feature = "cuda")]
pub use device_counters::watch_device;
pub use fatal::{End, Fatal};
pub use in_process::InProcess;
pub use known::Known;
pub use session::{Executed, Session};

/// Which cases a fuzz target runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Single calls, forward only.
    Forward,
    /// Single calls with gradients.
    Backward,
    /// Sequences of calls.
    Program,
}

thread_local! {
    /// The last text that was written, and its case. A fuzzer usually runs and mutates it next.
    static LAST: RefCell<(Vec<u8>, Option<Case>)> = const { RefCell::new((Vec::new(), None)) };
}

/// The ops of single calls; unset for all.
static RESTRICTED: OnceLock<Vec<&'static Op>> = OnceLock::new();

/// Restricts single calls to the ops whose names match `glob`, for the rest of this process.
pub fn restrict(glob: &str) -> anyhow::Result<()> {
    validate(glob).with_context(|| format!("`{glob}` is not a pattern"))?;
    let only: Vec<&'static Op> = single_ops().into_iter().filter(|op| glob_match(glob, op.name)).collect();
    ensure!(!only.is_empty(), "no op matches `{glob}`; `snuffer ops` lists them");
    RESTRICTED.set(only).map_err(|_| anyhow::anyhow!("the ops are restricted already"))
}

/// The ops of single calls.
fn single_ops() -> Vec<&'static Op> {
    let is_single = |op: &&Op| !["canary", sequence::SEQUENCE.name].contains(&op.name);
    RESTRICTED.get().cloned().unwrap_or_else(|| ops::ALL.iter().copied().filter(is_single).collect())
}

impl Target {
    /// Parses `bytes` as a case of this target; `None` if they are not a case, or a case of another target.
    pub fn case(self, bytes: &[u8]) -> Option<(&'static Op, Case)> {
        let written = LAST.with_borrow(|(text, case)| case.clone().filter(|_| text == bytes));
        let case = match written {
            Some(case) => case,
            None => Case::parse(std::str::from_utf8(bytes).ok()?).ok()?,
        };
        let (op, case) = ops::accept(case).ok().filter(|(op, _)| op.name != "canary")?;
        let is_selected =
            RESTRICTED.get().is_none_or(|only| self == Self::Program || only.iter().any(|one| one.name == op.name));
        (self.takes(&case) && is_selected).then_some((op, case))
    }

    /// Whether `case` is of this target's form.
    fn takes(self, case: &Case) -> bool {
        match self {
            Self::Forward => case.steps.is_empty() && case.backward.is_none(),
            Self::Backward => case.steps.is_empty() && !case.backward.is_none(),
            Self::Program => !case.steps.is_empty(),
        }
    }

    /// The seeds of a corpus: a valid call of each op that the target takes, or some valid sequences.
    pub fn seeds(self) -> Vec<Case> {
        /// How many sequences.
        const SEQUENCES: usize = 64;
        /// How many cases of an op are drawn to find one. A few ops have a gradient in one case of many.
        const TRIES: u64 = 256;
        let (ops, each) =
            if self == Self::Program { (vec![&sequence::SEQUENCE], SEQUENCES) } else { (single_ops(), 1) };
        let drawn = |op, number| {
            let mut case = Sample::nth(&[op], &[Mode::Valid], 1, number).drawn.case;
            if self == Self::Forward {
                case.backward = Backward::None;
            }
            case
        };
        let of = |op| {
            let cases = (0..TRIES).map(move |number| drawn(op, number));
            cases.filter(|case| self.takes(case) && !session::is_too_much(op, case)).take(each)
        };
        ops.into_iter().flat_map(of).collect()
    }

    /// A case drawn with `seed`.
    pub fn drawn(self, seed: u64) -> Case {
        let ops = if self == Self::Program { vec![&sequence::SEQUENCE] } else { single_ops() };
        self.drawn_of(&ops, seed)
    }

    /// A case of one of `ops`, drawn with `seed`.
    fn drawn_of(self, ops: &[&'static Op], seed: u64) -> Case {
        // The seed decides op and mode, too, so neighbouring seeds give different ops.
        let index = u64::from_le_bytes(random("fuzz", seed, 0)[..8].try_into().expect("eight bytes"));
        self.adapted(Sample::nth(ops, &Mode::ALL, seed, index >> 1).drawn.case)
    }

    /// Turns `case` into a case of this target.
    fn adapted(self, mut case: Case) -> Case {
        match self {
            Self::Forward => case.backward = Backward::None,
            Self::Backward if case.backward.is_none() => case.backward = Backward::Weighted,
            Self::Backward | Self::Program => {}
        }
        case
    }

    /// The input to run after `bytes`, decided by `seed`, in at most `max_len` bytes. One in four is a new case, as is
    /// every input after bytes that do not parse. The others are edited, or new cases of the same op.
    pub fn mutated(self, bytes: &[u8], seed: u32, max_len: usize) -> Vec<u8> {
        let seed = u64::from(seed);
        let case = match (random("fuzz", seed, 2)[0] % 4, self.case(bytes)) {
            (0, _) | (_, None) => self.drawn(seed),
            // Generators know which dtypes and sizes an op takes. Sequences have only one generator.
            (1 | 2, Some((op, _))) if self != Self::Program => self.drawn_of(&[op], seed),
            (_, Some((op, case))) => edited(op, case, seed).unwrap_or_else(|_| self.drawn(seed)),
        };
        self.text(case, seed, max_len)
    }

    /// A case with parts of two, decided by `seed`, in at most `max_len` bytes.
    pub fn crossed(self, one: &[u8], other: &[u8], seed: u32, max_len: usize) -> Vec<u8> {
        let seed = u64::from(seed);
        let both = self.case(one).zip(self.case(other));
        let both = both.and_then(|((op, one), (_, other))| {
            Some((op, spliced(&one, &other, &mut Draw::new(&random("fuzz", seed, 1))).ok()?))
        });
        let accepted = both.filter(|(op, case)| op.check(case).is_ok()).map(|(_, case)| case);
        self.text(accepted.unwrap_or_else(|| self.drawn(seed)), seed, max_len)
    }

    /// The text of `case`, or of a new case if that is too long.
    fn text(self, case: Case, seed: u64, max_len: usize) -> Vec<u8> {
        let mut case = self.adapted(case);
        // New cases have a few kilobytes at most, but the fuzzer's limit may be lower still.
        for attempt in 1..8 {
            let text = case.to_text().into_bytes();
            if text.len() <= max_len {
                LAST.replace((text.clone(), Some(case)));
                return text;
            }
            case = self.drawn(seed.wrapping_add(attempt));
        }
        Vec::new()
    }
}

/// `case` after one to three edits. One edit in four violates the contract.
fn edited(op: &Op, mut case: Case, seed: u64) -> arbitrary::Result<Case> {
    let bytes = random("fuzz", seed, 1);
    let mut draw = Draw::of_any_size(&bytes)?;
    let edits = draw.between(1, 3)?;
    let mut done = 0;
    for _ in 0..16 {
        let list = if draw.one_in(4)? { VIOLATIONS } else { EDITS };
        let mut next = case.clone();
        let changed = (draw.choose(list)?.apply)(&mut next, &mut draw)?;
        op.clamp(&mut next);
        next.repair_shared();
        // An edit may leave tensors that are no longer valid.
        if changed && next != case && next.check().is_ok() {
            case = next;
            done += 1;
        }
        if done == edits {
            break;
        }
    }
    Ok(case)
}

/// The `case_text` target: a case that was parsed is the same after writing and parsing it again.
pub fn case_text(bytes: &[u8]) {
    let Some(case) = std::str::from_utf8(bytes).ok().and_then(|text| Case::parse(text).ok()) else { return };
    let text = case.to_text();
    let parsed = Case::parse(&text).expect("a written case parses");
    assert_eq!(parsed, case, "a case changed by being written:\n{text}");
    assert_eq!(parsed.to_text(), text, "a case has two texts");
    if let Some(op) = ops::find(&case.op) {
        // Contracts must not panic on any case.
        let _ = op.contract(&case);
    }
}

/// The `protocol` target: no bytes make either end of the worker protocol panic, and messages survive a round trip.
pub fn protocol(bytes: &[u8]) {
    let Ok(body) = read_frame(&mut &bytes[..]) else { return };
    check_round_trip::<Hello>(&body);
    check_round_trip::<Request>(&body);
    check_round_trip::<Reply>(&body);
}

/// If `body` is a message: writes it, reads it back, and compares bytes, since NaN never equals itself.
fn check_round_trip<T: Serialize + DeserializeOwned>(body: &[u8]) {
    let Ok(message) = decode::<T>(body) else { return };
    let frame = encode(&message).expect("a message that was read can be written");
    let body = read_frame(&mut &frame[..]).expect("a frame that was written");
    let same = decode::<T>(&body).and_then(|message| encode(&message)).expect("a message that was written");
    assert_eq!(same, frame, "a message changed by being written");
}
