//! From a failing case to a finding: canonical form, minimization, and proof that it happens again.

pub mod minimize;

use std::mem::{Discriminant, discriminant};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::case::Case;
use crate::device::Device;
use crate::examine::{Patience, violation};
use crate::exec::{Answer, Build, Executor, Limits, Worker};
use crate::investigate::alone;
use crate::ops::{Contract, Op, find};
use crate::oracle::{Evidence, Signature, Verdict, Violation, judge};
use crate::outcome::{Observation, Outcome};
use crate::settle::minimize::{Minimized, minimize};
use crate::store::{Finding, Origin, Reproduction, Unchecked};
use crate::tensor::DType;
use crate::tensor::cast;

/// How findings are settled.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How long the minimizer may take for one finding.
    pub time: Duration,
    /// How many candidates it may try.
    pub attempts: usize,
    /// How often the minimized case is run again.
    pub tries: u32,
    /// What a case may use up.
    pub limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self { time: Duration::from_secs(30), attempts: 20_000, tries: 10, limits: Limits::default() }
    }
}

/// What came of a failure.
#[derive(Debug)]
pub struct Settled {
    /// The finding; `None` where it does not happen in a new process.
    pub finding: Option<Finding>,
    /// Failures with other signatures that were met on the way, one case each.
    pub met: Vec<(Case, Signature)>,
}

/// The same failure as plainly as it happens: of a sequence, the step that fails alone; in `f32`, what fails there too.
/// One cause shall not be filed once by itself and once more in company or in reduced precision.
pub fn canonical(executor: &mut Executor, case: Case, signature: Signature) -> anyhow::Result<(Case, Signature)> {
    if let Some((call, violation)) = alone(executor, &case)? {
        let signature = violation.signature(&call.op);
        return canonical(executor, call, signature);
    }
    let op = op_of(&case)?;
    if !case.inputs.values().any(|tensor| tensor.dtype.is_reduced_precision()) {
        return Ok((case, signature));
    }
    let mut single = case.clone();
    for tensor in single.inputs.values_mut().filter(|tensor| tensor.dtype.is_reduced_precision()) {
        *tensor = cast(tensor, DType::F32);
    }
    let found = violation(executor, op, &single, Patience::Full)?.map(|violation| violation.signature(op.name));
    let same = |other: &Signature| (&other.oracle, &other.kind) == (&signature.oracle, &signature.kind);
    Ok(match found.filter(same) {
        Some(found) => (single, found),
        None => (case, signature),
    })
}

/// A minimization under one signature, and what it meets on the way.
#[derive(Debug)]
pub struct Search<'a> {
    op: &'static Op,
    signature: &'a Signature,
    settings: &'a Settings,
    /// A fault on a valid input says more than one on an input of which nothing is promised.
    promised: Discriminant<Contract>,
    begun: Instant,
    attempts: usize,
    met: Vec<(Case, Signature)>,
}

impl<'a> Search<'a> {
    /// A search that begins at `case`, which fails under `signature`.
    pub fn new(op: &'static Op, case: &Case, signature: &'a Signature, settings: &'a Settings) -> Self {
        let promised = discriminant(&(op.contract)(case));
        Self { op, signature, settings, promised, begun: Instant::now(), attempts: 0, met: Vec::new() }
    }

    fn run(&mut self, executor: &mut Executor, case: Case, patience: Patience) -> anyhow::Result<Minimized> {
        minimize(case, |candidate| self.fails(executor, candidate, patience))
    }

    /// Whether `candidate` fails under the signature; `None` when the time or the attempts are over.
    pub fn fails(
        &mut self,
        executor: &mut Executor,
        candidate: &Case,
        patience: Patience,
    ) -> anyhow::Result<Option<bool>> {
        self.attempts += 1;
        if self.begun.elapsed() > self.settings.time || self.attempts > self.settings.attempts {
            return Ok(None);
        }
        if discriminant(&(self.op.contract)(candidate)) != self.promised {
            return Ok(Some(false));
        }
        let Some(violation) = violation(executor, self.op, candidate, patience)? else { return Ok(Some(false)) };
        let other = violation.signature(self.op.name);
        if other == *self.signature {
            return Ok(Some(true));
        }
        if self.met.iter().all(|(_, known)| *known != other) {
            self.met.push((candidate.clone(), other));
        }
        Ok(Some(false))
    }
}

/// Minimizes `case` under `signature` and proves the result in new workers.
pub fn settle(
    executor: &mut Executor,
    case: Case,
    signature: &Signature,
    settings: &Settings,
) -> anyhow::Result<Settled> {
    let op = op_of(&case)?;
    let mut search = Search::new(op, &case, signature, settings);
    let mut minimized = search.run(executor, case.clone(), Patience::Short)?;
    let (mut first, mut observations) = prove(executor, op, &minimized.case, signature)?;
    if first.is_none() {
        // What is merely slow was taken for a hang.
        minimized = search.run(executor, case, Patience::Full)?;
        (first, observations) = prove(executor, op, &minimized.case, signature)?;
    }
    let met = search.met;
    let case = minimized.case;
    let ended = |how: fn(&Outcome) -> bool| observations.iter().any(|seen| how(&seen.outcome));
    let hangs = ended(|outcome| matches!(outcome, Outcome::TimedOut(_)));
    let fills_memory = ended(|outcome| matches!(outcome, Outcome::OutOfMemory(_)));
    // Each costs seconds: three times are enough to know it, and what had its full deadline once has the short one then.
    let tries = if hangs || fills_memory { settings.tries.min(3) } else { settings.tries };
    let mut failed = u32::from(first.is_some());
    let mut last = first;
    for _ in 1..tries {
        let patience = if hangs { Patience::Short } else { Patience::Full };
        let again =
            violation(executor, op, &case, patience)?.filter(|violation| violation.signature(op.name) == *signature);
        failed += u32::from(again.is_some());
        last = last.or(again);
    }
    let Some(violation) = last else { return Ok(Settled { finding: None, met }) };
    let unchecked = unchecked(op, &case, &violation, settings.limits)?;
    let finding = Finding {
        signature: signature.clone(),
        violation,
        promise: op.promise.to_string(),
        reproduction: Reproduction { tries, failed, unchecked },
        origin: Origin {
            versions: versions(),
            hardware: executor.hardware(),
            seed: 0,
            index: 0,
            attempts: minimized.attempts,
            minimal: minimized.finished,
        },
        case,
        observations,
    };
    Ok(Settled { finding: Some(finding), met })
}

/// Runs `case` in new processes: the violation, if it is the one that `signature` names.
fn prove(
    executor: &mut Executor,
    op: &'static Op,
    case: &Case,
    signature: &Signature,
) -> anyhow::Result<(Option<Violation>, Vec<Observation>)> {
    let observations = executor.observe_afresh(case)?;
    let violation = match judge(&Evidence::new(op, case, &observations)) {
        Verdict::Fail(violation) if violation.signature(op.name) == *signature => Some(violation),
        _ => None,
    };
    Ok((violation, observations))
}

fn op_of(case: &Case) -> anyhow::Result<&'static Op> {
    find(&case.op).with_context(|| format!("this build has no op `{}`", case.op))
}

/// `snuffer` and the candle that it is built with.
pub fn versions() -> String {
    let candle = crate::CANDLE;
    format!("snuffer {}, candle-core {candle}, candle-nn {candle}", env!("CARGO_PKG_VERSION"))
}

/// What a build without debug assertions and overflow checks does with the case.
fn unchecked(op: &'static Op, case: &Case, violation: &Violation, limits: Limits) -> anyhow::Result<Unchecked> {
    let device = violation.device;
    let mut worker = match Worker::start(device, Build::Unchecked, limits) {
        Ok(worker) => worker,
        Err(_) if device != Device::Cpu => return Ok(Unchecked::NotRun(format!("no such build for {device}"))),
        Err(missing) => return Ok(Unchecked::NotRun(missing.to_string())),
    };
    let Answer { outcome, again, device_reports } = worker.run(case)?;
    let contiguous = if case.is_contiguous() { None } else { Some(worker.run(&case.contiguous())?.outcome) };
    let observations = [Observation { device, outcome, again, contiguous, device_reports }];
    let same = match judge(&Evidence::new(op, case, &observations)) {
        Verdict::Fail(other) => other.signature(op.name) == violation.signature(op.name),
        Verdict::Pass | Verdict::Skip(_) => false,
    };
    Ok(if same { Unchecked::Same } else { Unchecked::Other(observations[0].outcome.summary()) })
}
