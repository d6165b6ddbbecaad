//! One fuzzing process: runs cases on candle devices in this process, judges them, and keeps a case of every new failure.

use std::hash::{Hash, Hasher};
use std::path::PathBuf;

use anyhow::ensure;
use siphasher::sip::SipHasher13;

use super::Target;
use super::in_process::InProcess;
use super::known::Known;
use crate::case::{Case, Param, Repeat};
use crate::device::Device;
use crate::ops::canary::{self, FENCED_FAULTS, Fault};
use crate::ops::{Contract, Op, why};
use crate::oracle::{Evidence, Kind, Signature, Verdict, judge};
use crate::outcome::Observation;
use crate::store::keep_case;
use crate::tensor::Value;

/// True if the case may exhaust this process, by its size, by how often it is repeated, or by a param alone, for instance as a padding.
/// Hunts run such cases in workers, which may die.
pub(super) fn is_too_much(op: &Op, case: &Case) -> bool {
    const LARGEST: i64 = 1 << 12;
    // A deeper graph may overflow the stack.
    const DEEPEST: u32 = 100;
    let mut numbers = case.params.values().flat_map(Param::numbers);
    numbers.any(|number| matches!(number, Value::Int(value) if value > LARGEST))
        || case.times.others().any(|times| times.get() > DEEPEST)
        || case.repeat.is_some_and(|repeat| repeat > Repeat::LEAST)
        || op.contract(case) == Contract::Unspecified(why::TOO_LARGE)
}

/// The result of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executed {
    /// Not run: not a case of the target, too large, or known to end the process.
    Refused,
    /// Nothing failed.
    Fine,
    /// It fails in a known way.
    Known,
    /// It fails in a new way: this one, and perhaps others. The case was kept for each.
    New(Signature),
}

/// The devices of this process, and the failures it knows.
#[derive(Debug)]
pub struct Session {
    target: Target,
    devices: InProcess,
    known: Known,
    /// Where cases of new failures are kept.
    artifacts: PathBuf,
    /// Counters that a fuzzer reads and clears after each input, one for each op and outcome.
    cells: &'static mut [u8],
}

impl Session {
    /// Starts a session on `devices` that skips what is `known`. First checks with the canary that it notices failures. Call
    /// [`run::install_panic_hook`] before.
    pub fn start(
        target: Target,
        devices: &[Device],
        known: Known,
        artifacts: PathBuf,
        cells: &'static mut [u8],
    ) -> anyhow::Result<Self> {
        let devices = InProcess::open(devices)?;
        let mut session = Self { target, devices, known, artifacts, cells };
        session.check_canary()?;
        Ok(session)
    }

    /// What this session skips, and how much of it there was.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Plants the canary faults that a process survives and notices without a worker's allocator, on every device. Each must be noticed.
    fn check_canary(&mut self) -> anyhow::Result<()> {
        const UNSEEN: [&str; 6] = ["died", "stack overflow", "hang", "out of memory", "differs", "growing memory"];
        let is_seen =
            |fault: &Fault| !UNSEEN.contains(&fault.kind) && !FENCED_FAULTS.iter().any(|it| it.name == fault.name);
        let devices: Vec<Device> = self.devices.devices().collect();
        for fault in canary::faults(&devices).into_iter().filter(is_seen) {
            let case = canary::case(fault.name);
            for seen in self.devices.observe(&case)? {
                let verdict = judge(&Evidence::new(&canary::CANARY, &case, std::slice::from_ref(&seen)));
                let noticed = verdict.violations().first().is_some_and(|it| it.kind == Kind::from(fault.kind));
                ensure!(noticed, "the canary's {} was not noticed on {}", fault.name, seen.device);
            }
        }
        Ok(())
    }

    /// Runs and judges the case in `bytes`.
    pub fn execute(&mut self, bytes: &[u8]) -> anyhow::Result<Executed> {
        let Some((op, case)) = self.target.case(bytes) else { return Ok(Executed::Refused) };
        if is_too_much(op, &case) || self.known.is_fatal(op, &case) {
            return Ok(Executed::Refused);
        }
        let observations = self.devices.observe(&case)?;
        let verdict = judge(&Evidence::new(op, &case, &observations));
        self.mark(op, &observations, &verdict);
        if verdict.violations().is_empty() {
            return Ok(Executed::Fine);
        }
        let mut new = verdict.signatures(op.name);
        new.retain(|signature| self.known.is_new(signature.slug()));
        for signature in &new {
            keep_case(&self.artifacts, &signature.slug(), &case)?;
        }
        Ok(new.into_iter().next().map_or(Executed::Known, Executed::New))
    }

    /// Increments the cell of this op and outcome. Dtypes, views and sizes already show in the coverage of candle's code:
    /// when cells distinguished these as well, they dominated the corpus, and less of the device was reached.
    fn mark(&mut self, op: &Op, observations: &[Observation], verdict: &Verdict) {
        let mut hasher = SipHasher13::new();
        (op.name, std::mem::discriminant(verdict)).hash(&mut hasher);
        for seen in observations {
            seen.outcome.name().hash(&mut hasher);
        }
        let cells = self.cells.len().max(1);
        if let Some(cell) = self.cells.get_mut(hasher.finish() as usize % cells) {
            *cell = cell.saturating_add(1);
        }
    }
}
