//! One fuzzing process: runs cases on candle devices in this process, judges them, and keeps a case of every new failure.

use std::hash::{Hash, Hasher};
use std::path::PathBuf;

use anyhow::{Context, ensure};
use siphasher::sip::SipHasher13;

use super::Target;
use super::captured_stderr::CapturedStderr;
use super::known::Known;
use crate::case::{Case, Param};
use crate::device::Device;
use crate::exec::diagnosis;
use crate::ops::canary::{self, FENCED_FAULTS, Fault};
use crate::ops::{self, Contract, Op, why};
use crate::oracle::{Evidence, Kind, Signature, Verdict, judge};
use crate::outcome::{DeviceReports, Observation, Outcome};
use crate::run::{self, Opened};
use crate::store::keep_case;
use crate::tensor::Value;

/// Whether the case may exhaust this process, by its size or by a param alone, for instance as a padding. Hunts run such cases
/// in workers, which may die.
pub(super) fn is_too_much(op: &Op, case: &Case) -> bool {
    const LARGEST: i64 = 1 << 12;
    let mut numbers = case.params.values().flat_map(Param::numbers);
    numbers.any(|number| matches!(number, Value::Int(value) if value > LARGEST))
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
    devices: Vec<(Device, Opened)>,
    known: Known,
    /// Where cases of new failures are kept.
    artifacts: PathBuf,
    stderr: CapturedStderr,
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
        let open = |&device| Ok((device, run::open(device).with_context(|| format!("cannot open {device}"))?));
        let devices = devices.iter().map(open).collect::<anyhow::Result<_>>()?;
        let mut session = Self { target, devices, known, artifacts, stderr: CapturedStderr::new()?, cells };
        session.check_canary()?;
        Ok(session)
    }

    /// What this session skips, and how much of it there was.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Plants the canary faults that a process survives and notices without a fence, on every device. Each must be noticed.
    fn check_canary(&mut self) -> anyhow::Result<()> {
        const FATAL: [&str; 5] = ["died", "stack overflow", "hang", "out of memory", "differs"];
        let is_seen =
            |fault: &Fault| !FATAL.contains(&fault.kind) && !FENCED_FAULTS.iter().any(|it| it.name == fault.name);
        let devices: Vec<Device> = self.devices.iter().map(|(device, _)| *device).collect();
        for fault in canary::faults(&devices).into_iter().filter(is_seen) {
            let case = canary::case(fault.name);
            for seen in self.observe(&case)? {
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
        let observations = self.observe(&case)?;
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

    /// Runs the case once on each device, and once more contiguous if it has views. Differs from [`crate::examine`], which
    /// runs cases in workers, twice, and under a deadline: libFuzzer needs the coverage of its own process and has its own
    /// time limit, and a second run of each input would cost speed.
    fn observe(&mut self, case: &Case) -> anyhow::Result<Vec<Observation>> {
        let baseline = (!case.is_plain()).then(|| case.contiguous());
        let mut observations = Vec::with_capacity(self.devices.len());
        for index in 0..self.devices.len() {
            let (outcome, device_reports) = self.run(index, case)?;
            let contiguous = match &baseline {
                Some(baseline) if !outcome.lost_the_process() => Some(self.run(index, baseline)?.0),
                _ => None,
            };
            let sibling = match ops::beside(case, &outcome) {
                Some(sibling) => Some(self.run(index, &sibling)?.0),
                None => None,
            };
            let device = self.devices[index].0;
            observations.push(Observation { contiguous, sibling, device_reports, ..Observation::new(device, outcome) });
        }
        Ok(observations)
    }

    /// Runs the case on one device. A device that faulted is opened again.
    fn run(&mut self, index: usize, case: &Case) -> anyhow::Result<(Outcome, DeviceReports)> {
        let (device, opened) = &mut self.devices[index];
        if *device == Device::Cpu {
            return Ok((run::run(case, opened, |_| {}), DeviceReports::default()));
        }
        let (outcome, printed) = self.stderr.during(|| run::run(case, opened, |_| {}))?;
        let device_reports = diagnosis::device_reports(&printed, matches!(outcome, Outcome::Faulted(_)));
        let Outcome::Faulted(fault) = outcome else { return Ok((outcome, device_reports)) };
        // A simulated device recovers when its last user closes it. A real one would need a new process.
        let device = *device;
        self.devices.remove(index);
        self.devices.insert(index, (device, run::open(device).context("cannot open the device again")?));
        Ok((diagnosis::explain(fault, &printed), device_reports))
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
