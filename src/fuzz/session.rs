//! One fuzzing process: runs cases on candle devices in this process, judges them, and keeps a case of every failure
//! that is new to it.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use anyhow::Context;

use super::Target;
use super::said::Said;
use crate::case::{Case, Param};
use crate::device::Device;
use crate::exec::diagnosis;
use crate::findings::{Finding, keep_case};
use crate::ops::{self, Contract, Op, sequence, why};
use crate::oracle::{Evidence, Observation, Signature, Verdict, judge};
use crate::outcome::Outcome;
use crate::regression::Regression;
use crate::run::{self, Opened};
use crate::tensor::{DType, Tensor, Value};

/// Cells tell cases apart whose largest tensor has more elements than these: nothing, a warp, a block, several.
const SIZES: [usize; 4] = [0, 32, 1024, 8192];

/// Whether a param alone may exhaust this process. Hunts try such cases, in workers that may die.
fn is_absurd(case: &Case) -> bool {
    const LARGEST: i64 = 1 << 24;
    case.params.values().any(|param| matches!(param, Param::Number(Value::Int(value)) if *value > LARGEST))
}

/// What became of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executed {
    /// It is no case of the target, too large to try, or known to end the process.
    Refused,
    /// Nothing failed.
    Fine,
    /// It fails as another one did before.
    Known,
    /// It fails in a new way; the case was kept.
    New(Signature),
}

/// What is stepped over, so that exploration goes on behind it.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Failures that are no news.
    signatures: HashSet<Signature>,
    /// Ops, with the dtype, that are known to end or block the process that runs them: they are not run here.
    fatal: HashSet<(String, Option<DType>)>,
}

impl Known {
    /// What `findings` show.
    pub fn of(findings: &[Finding]) -> Self {
        let ends = |outcome: &Outcome| outcome.lost_the_process() && !matches!(outcome, Outcome::Faulted(_));
        let fatal = findings.iter().filter(|finding| finding.observations.iter().any(|seen| ends(&seen.outcome)));
        let place = |finding: &Finding| {
            let dtype = ops::find(&finding.case.op).and_then(|op| op.dtype(&finding.case));
            (finding.case.op.clone(), dtype)
        };
        Self {
            signatures: findings.iter().map(|finding| finding.signature.clone()).collect(),
            fatal: fatal.map(place).collect(),
        }
    }

    /// Also steps over what `regressions` show.
    pub fn add(&mut self, regressions: impl IntoIterator<Item = Regression>) {
        self.signatures.extend(regressions.into_iter().filter_map(|regression| regression.signature));
    }

    /// How many failures there are.
    pub fn count(&self) -> usize {
        self.signatures.len()
    }

    /// Whether some call of `case` is known to end the process.
    fn is_fatal(&self, op: &Op, case: &Case) -> bool {
        let whole = self.fatal.contains(&(op.name.to_string(), op.dtype(case)));
        // The dtype that reaches a step is another matter than the one that it names.
        whole || sequence::steps(case).iter().any(|(op, _)| self.fatal.iter().any(|(name, _)| *name == op.name))
    }
}

/// The devices of this process, and what it has met.
#[derive(Debug)]
pub struct Session {
    target: Target,
    devices: Vec<(Device, Opened)>,
    known: Known,
    /// Where cases of new failures are kept.
    artifacts: PathBuf,
    said: Said,
    /// Bytes that a fuzzer reads and clears after each input: which combinations of op, dtype, view, size and verdict
    /// there were.
    cells: &'static mut [u8],
}

impl Session {
    /// A session on `devices` that steps over what is `known`. [`run::install_panic_hook`] must have been called.
    pub fn start(
        target: Target,
        devices: &[Device],
        known: Known,
        artifacts: PathBuf,
        cells: &'static mut [u8],
    ) -> anyhow::Result<Self> {
        let open = |&device| Ok((device, run::open(device).with_context(|| format!("cannot open {device}"))?));
        let devices = devices.iter().map(open).collect::<anyhow::Result<_>>()?;
        Ok(Self { target, devices, known, artifacts, said: Said::new()?, cells })
    }

    /// Runs and judges the case that `bytes` are.
    pub fn execute(&mut self, bytes: &[u8]) -> anyhow::Result<Executed> {
        let Some((op, case)) = self.target.case(bytes) else { return Ok(Executed::Refused) };
        let too_large = (op.contract)(&case) == Contract::Unspecified(why::TOO_LARGE);
        if too_large || is_absurd(&case) || self.known.is_fatal(op, &case) {
            return Ok(Executed::Refused);
        }
        let observations = self.observe(&case)?;
        let verdict = judge(&Evidence::new(op, &case, &observations));
        self.mark(op, &case, &observations, &verdict);
        let Verdict::Fail(violation) = verdict else { return Ok(Executed::Fine) };
        let signature = violation.signature(op.name);
        if !self.known.signatures.insert(signature.clone()) {
            return Ok(Executed::Known);
        }
        keep_case(&self.artifacts, &signature, &case)?;
        Ok(Executed::New(signature))
    }

    /// Once on each device, and once more contiguous where the case has views.
    fn observe(&mut self, case: &Case) -> anyhow::Result<Vec<Observation>> {
        let twin = (!case.is_contiguous()).then(|| case.contiguous());
        let mut observations = Vec::with_capacity(self.devices.len());
        for place in 0..self.devices.len() {
            let outcome = self.run(place, case)?;
            let contiguous = match &twin {
                Some(twin) if !outcome.lost_the_process() => Some(self.run(place, twin)?),
                _ => None,
            };
            observations.push(Observation { device: self.devices[place].0, outcome, again: None, contiguous });
        }
        Ok(observations)
    }

    fn run(&mut self, place: usize, case: &Case) -> anyhow::Result<Outcome> {
        let (device, on) = &mut self.devices[place];
        if *device == Device::Cpu {
            return Ok(run::run(case, on, |_| {}));
        }
        let (outcome, said) = self.said.during(|| run::run(case, on, |_| {}))?;
        let Outcome::Faulted(fault) = outcome else { return Ok(outcome) };
        // A simulated device forgets its fault with its last user; a real one would not, and needs a new process.
        let device = *device;
        self.devices.remove(place);
        self.devices.insert(place, (device, run::open(device).context("cannot open the device again")?));
        Ok(diagnosis::explain(fault, &said))
    }

    /// Marks the case's cell.
    fn mark(&mut self, op: &Op, case: &Case, observations: &[Observation], verdict: &Verdict) {
        if self.cells.is_empty() {
            return;
        }
        let mut hasher = DefaultHasher::new();
        let largest = case.inputs.values().filter_map(Tensor::elements).max().unwrap_or(0);
        let size = SIZES.iter().filter(|&&size| largest > size).count();
        (op.name, op.dtype(case), case.is_contiguous(), size, std::mem::discriminant(verdict)).hash(&mut hasher);
        for seen in observations {
            seen.outcome.name().hash(&mut hasher);
        }
        let place = hasher.finish() as usize % self.cells.len();
        self.cells[place] = self.cells[place].saturating_add(1);
    }
}
