//! One fuzzing process: runs cases on candle devices in this process, judges them, and keeps a case of every failure
//! that is new to it.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use super::Target;
use super::said::Said;
use crate::case::{Case, Param};
use crate::device::Device;
use crate::exec::diagnosis;
use crate::findings::{Finding, keep_case};
use crate::ops::{self, Contract, Op, canary, sequence, why};
use crate::oracle::{Evidence, Observation, Signature, Verdict, judge};
use crate::outcome::Outcome;
use crate::run::{self, Opened};
use crate::tensor::{DType, Tensor, Value};

/// Cells tell cases apart whose largest tensor has more elements than these: nothing, a warp, a block, several.
const SIZES: [usize; 4] = [0, 32, 1024, 8192];

/// Whether a param alone may exhaust this process: as two paddings, say. Hunts try such cases, in workers that may die.
fn is_absurd(case: &Case) -> bool {
    const LARGEST: i64 = 1 << 12;
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
    /// Failures that are no news, by the slugs of their signatures.
    slugs: HashSet<String>,
    /// Which calls are known to end or block the process that runs them, by op: they are not run here.
    fatal: HashSet<(String, Danger)>,
}

/// Which calls of an op are alike in that they may end the process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Danger {
    /// Valid ones of a dtype.
    Dtype(Option<DType>),
    /// Those that break a rule, or of which nothing is promised for a reason.
    Rule(&'static str),
}

impl Danger {
    fn of(op: &Op, case: &Case) -> Self {
        match (op.contract)(case) {
            Contract::Accepts { .. } => Self::Dtype(op.dtype(case)),
            Contract::Rejects(rule) | Contract::Unspecified(rule) => Self::Rule(rule),
        }
    }
}

impl Known {
    /// Steps over what `finding` shows.
    pub fn add(&mut self, finding: &Finding) {
        self.slugs.insert(finding.signature.slug());
        let ends = |outcome: &Outcome| outcome.lost_the_process() && !matches!(outcome, Outcome::Faulted(_));
        if finding.observations.iter().any(|seen| ends(&seen.outcome)) {
            self.add_fatal(&finding.case);
        }
    }

    /// Steps over failures whose signature has this slug.
    pub fn add_slug(&mut self, slug: String) {
        self.slugs.insert(slug);
    }

    /// Runs no call like `case` again.
    pub fn add_fatal(&mut self, case: &Case) {
        let danger = ops::find(&case.op).map(|op| Danger::of(op, case));
        self.fatal.extend(danger.map(|danger| (case.op.clone(), danger)));
    }

    /// Also steps over what a session before this one left in `artifacts`, and what ended it.
    pub fn add_artifacts(&mut self, artifacts: &Path) -> anyhow::Result<()> {
        if !artifacts.is_dir() {
            return Ok(());
        }
        for entry in fs::read_dir(artifacts).with_context(|| format!("cannot read {}", artifacts.display()))? {
            let path = entry?.path();
            let is_kept = path.extension().is_some_and(|extension| extension == "toml");
            match path.file_stem().and_then(|stem| stem.to_str()) {
                Some(slug) if is_kept => self.add_slug(slug.to_string()),
                // libFuzzer names what it kept by what ended it.
                _ => fs::read_to_string(&path).ok().and_then(|text| Case::parse(&text).ok()).iter().for_each(|case| {
                    self.add_fatal(case);
                }),
            }
        }
        Ok(())
    }

    /// How many failures there are.
    pub fn count(&self) -> usize {
        self.slugs.len()
    }

    /// Whether some call of `case` is known to end the process.
    fn is_fatal(&self, op: &Op, case: &Case) -> bool {
        let names = |dtype: DType| {
            let by_param = case.params.values().any(|param| *param == Param::from(dtype.name()));
            by_param || case.inputs.values().any(|tensor| tensor.dtype == dtype)
        };
        // Nobody knows which dtype reaches a step, but it must be in the case.
        let may = |danger: &Danger| !matches!(danger, Danger::Dtype(Some(dtype)) if !names(*dtype));
        let fatal = |op: &str| self.fatal.iter().any(|(name, danger)| name == op && may(danger));
        let steps = sequence::steps(case);
        if steps.is_empty() {
            return self.fatal.contains(&(op.name.to_string(), Danger::of(op, case)));
        }
        steps.iter().any(|(op, _)| fatal(op.name))
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
    /// A session on `devices` that steps over what is `known`, once it has proved by the canary that it notices failures.
    /// [`run::install_panic_hook`] must have been called.
    pub fn start(
        target: Target,
        devices: &[Device],
        known: Known,
        artifacts: PathBuf,
        cells: &'static mut [u8],
    ) -> anyhow::Result<Self> {
        let open = |&device| Ok((device, run::open(device).with_context(|| format!("cannot open {device}"))?));
        let devices = devices.iter().map(open).collect::<anyhow::Result<_>>()?;
        let mut session = Self { target, devices, known, artifacts, said: Said::new()?, cells };
        session.check_canary()?;
        Ok(session)
    }

    /// Plants the canary's faults that a process survives, on every device: each must be noticed.
    fn check_canary(&mut self) -> anyhow::Result<()> {
        const FATAL: [&str; 5] = ["died", "stack overflow", "hang", "out of memory", "differs"];
        let devices: Vec<Device> = self.devices.iter().map(|(device, _)| *device).collect();
        for (fault, kind) in canary::faults(&devices).into_iter().filter(|(_, kind)| !FATAL.contains(kind)) {
            let case = canary::case(fault);
            for seen in self.observe(&case)? {
                let verdict = judge(&Evidence::new(&canary::CANARY, &case, std::slice::from_ref(&seen)));
                let noticed = matches!(&verdict, Verdict::Fail(violation) if violation.kind == kind);
                ensure!(noticed, "the canary's {fault} was not noticed on {}", seen.device);
            }
        }
        Ok(())
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
        if !self.known.slugs.insert(signature.slug()) {
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
