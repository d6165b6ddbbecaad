//! What the fuzz targets do with their bytes. An input *is* a case, in its text form: what a fuzzer keeps, people read,
//! `snuffer replay` runs and `snuffer import` turns into findings.

mod captured_stderr;
mod known;
mod session;

use std::cell::RefCell;
use std::sync::OnceLock;

use anyhow::{Context, ensure};
use globset::Glob;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::case::{Backward, Case};
use crate::exec::protocol::{Hello, Reply, Request, decode, encode, read_frame};
use crate::generate::{Draw, EDITS, Mode, VIOLATIONS, random, spliced};
use crate::hunt::Sample;
use crate::ops::{self, Op, sequence};

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
    /// The last text that was written, and its case: a fuzzer runs and changes it next.
    static LAST: RefCell<(Vec<u8>, Option<Case>)> = const { RefCell::new((Vec::new(), None)) };
}

/// The ops of single calls; all, where nobody said which.
static ONLY: OnceLock<Vec<&'static Op>> = OnceLock::new();

/// Restricts single calls to the ops whose names match `glob`, for the rest of this process.
pub fn restrict(glob: &str) -> anyhow::Result<()> {
    let matcher = Glob::new(glob).with_context(|| format!("`{glob}` is no pattern"))?.compile_matcher();
    let only: Vec<&'static Op> = single().into_iter().filter(|op| matcher.is_match(op.name)).collect();
    ensure!(!only.is_empty(), "no op matches `{glob}`; `snuffer ops` lists them");
    ONLY.set(only).map_err(|_| anyhow::anyhow!("the ops are restricted already"))
}

fn single() -> Vec<&'static Op> {
    let is_single = |op: &&Op| !["canary", sequence::SEQUENCE.name].contains(&op.name);
    ONLY.get().cloned().unwrap_or_else(|| ops::ALL.iter().copied().filter(is_single).collect())
}

impl Target {
    /// The case that `bytes` are, as this target runs it; `None` where they are no case, or one that another target
    /// runs.
    pub fn case(self, bytes: &[u8]) -> Option<(&'static Op, Case)> {
        let written = LAST.with_borrow(|(text, case)| case.clone().filter(|_| text == bytes));
        let case = match written {
            Some(case) => case,
            None => Case::parse(std::str::from_utf8(bytes).ok()?).ok()?,
        };
        let op = ops::find(&case.op).filter(|op| op.name != "canary")?;
        let fits = match self {
            Self::Forward => case.steps.is_empty() && case.backward.is_none(),
            Self::Backward => case.steps.is_empty() && !case.backward.is_none(),
            Self::Program => !case.steps.is_empty(),
        };
        let wanted = ONLY.get().is_none_or(|only| self == Self::Program || only.iter().any(|one| one.name == op.name));
        (fits && wanted).then_some((op, case))
    }

    /// A case drawn by `seed`.
    pub fn drawn(self, seed: u64) -> Case {
        let ops = if self == Self::Program { vec![&sequence::SEQUENCE] } else { single() };
        self.drawn_of(&ops, seed)
    }

    /// A case of one of `ops`, drawn by `seed`.
    fn drawn_of(self, ops: &[&'static Op], seed: u64) -> Case {
        // The op and the mode by the seed, too: neighbouring seeds are unlike.
        let index = u64::from_le_bytes(random("fuzz", seed, 0)[..8].try_into().expect("eight bytes"));
        self.fitted(Sample::nth(ops, &Mode::ALL, seed, index >> 1).drawn.case)
    }

    /// `case` made one of this target.
    fn fitted(self, mut case: Case) -> Case {
        match self {
            Self::Forward => case.backward = Backward::None,
            Self::Backward if case.backward.is_none() => case.backward = Backward::Weighted,
            Self::Backward | Self::Program => {}
        }
        case
    }

    /// What to run after the case that `bytes` are, decided by `seed`, in at most `room` bytes: one in four is drawn anew
    /// (all are, where these are no case), the others are edited, or drawn anew for the same op.
    pub fn mutated(self, bytes: &[u8], seed: u32, room: usize) -> Vec<u8> {
        let seed = u64::from(seed);
        let case = match (random("fuzz", seed, 2)[0] % 4, self.case(bytes)) {
            (0, _) | (_, None) => self.drawn(seed),
            // Generators know which dtypes and sizes an op takes. For sequences there is only one.
            (1 | 2, Some((op, _))) if self != Self::Program => self.drawn_of(&[op], seed),
            (_, Some((_, case))) => edited(case, seed).unwrap_or_else(|_| self.drawn(seed)),
        };
        self.text(case, seed, room)
    }

    /// A case with parts of two, decided by `seed`, in at most `room` bytes.
    pub fn crossed(self, one: &[u8], other: &[u8], seed: u32, room: usize) -> Vec<u8> {
        let seed = u64::from(seed);
        let both = self.case(one).zip(self.case(other));
        let both = both
            .and_then(|((_, one), (_, other))| spliced(&one, &other, &mut Draw::new(&random("fuzz", seed, 1))).ok());
        self.text(both.unwrap_or_else(|| self.drawn(seed)), seed, room)
    }

    /// The text of `case`; of a drawn one where that is too long.
    fn text(self, case: Case, seed: u64, room: usize) -> Vec<u8> {
        let mut case = self.fitted(case);
        // A drawn case has a few kilobytes at most, but no fuzzer promises room.
        for attempt in 1..8 {
            let text = case.to_text().into_bytes();
            if text.len() <= room {
                LAST.replace((text.clone(), Some(case)));
                return text;
            }
            case = self.drawn(seed.wrapping_add(attempt));
        }
        Vec::new()
    }
}

/// `case` after one to three edits, of which one in four takes it out of its contract.
fn edited(mut case: Case, seed: u64) -> arbitrary::Result<Case> {
    let bytes = random("fuzz", seed, 1);
    let mut draw = Draw::of_any_size(&bytes)?;
    let wanted = draw.between(1, 3)?;
    let mut done = 0;
    for _ in 0..16 {
        let list = if draw.one_in(4)? { VIOLATIONS } else { EDITS };
        let mut next = case.clone();
        // What an edit leaves of the rest of the case may be no tensor any more.
        if (draw.choose(list)?.apply)(&mut next, &mut draw)? && next != case && next.check().is_ok() {
            case = next;
            done += 1;
        }
        if done == wanted {
            break;
        }
    }
    Ok(case)
}

/// What the `case_text` target checks: what is read as a case is written and read as the same case.
pub fn case_text(bytes: &[u8]) {
    let Some(case) = std::str::from_utf8(bytes).ok().and_then(|text| Case::parse(text).ok()) else { return };
    let text = case.to_text();
    let again = Case::parse(&text).expect("a written case is one");
    assert_eq!(again, case, "a case changed by being written:\n{text}");
    assert_eq!(again.to_text(), text, "a case has two texts");
    if let Some(op) = ops::find(&case.op) {
        // A contract says something of every case, however absurd.
        let _ = (op.contract)(&case);
    }
}

/// What the `protocol` target checks: no bytes make either end of the worker protocol panic, and what is read is written
/// as the same message.
pub fn protocol(bytes: &[u8]) {
    let Ok(body) = read_frame(&mut &bytes[..]) else { return };
    again::<Hello>(&body);
    again::<Request>(&body);
    again::<Reply>(&body);
}

/// Writes the message that `body` is, if it is one, and reads that again. By their bytes, as no NaN equals itself.
fn again<T: Serialize + DeserializeOwned>(body: &[u8]) {
    let Ok(message) = decode::<T>(body) else { return };
    let frame = encode(&message).expect("a message that was read can be written");
    let body = read_frame(&mut &frame[..]).expect("a frame that was written");
    let same = decode::<T>(&body).and_then(|message| encode(&message)).expect("a message that was written");
    assert_eq!(same, frame, "a message changed by being written");
}
