//! Proof that a minimized case fails: in new processes, several times, and in the unchecked build.

use super::Settings;
use crate::case::Case;
use crate::device::Device;
use crate::examine::{Patience, violation};
use crate::exec::{Answer, Build, Executor, Limits, Worker};
use crate::ops::Op;
use crate::oracle::{Evidence, Signature, Verdict, Violation, judge};
use crate::outcome::{Observation, Outcome};
use crate::store::{Reproduction, Unchecked};

/// One run in new processes.
pub struct NewRun {
    /// The violation, if it has the expected signature.
    pub violation: Option<Violation>,
    observations: Vec<Observation>,
}

/// A failure that happened again.
pub struct Proof {
    pub violation: Violation,
    pub reproduction: Reproduction,
    pub observations: Vec<Observation>,
}

/// Runs `case` in new processes and judges it under `signature`.
pub fn in_new_workers(
    executor: &mut Executor,
    op: &'static Op,
    case: &Case,
    signature: &Signature,
) -> anyhow::Result<NewRun> {
    let observations = executor.observe_in_new_workers(case)?;
    let violation = match judge(&Evidence::new(op, case, &observations)) {
        Verdict::Fail(violation) if violation.signature(op.name) == *signature => Some(violation),
        _ => None,
    };
    Ok(NewRun { violation, observations })
}

/// Runs `case` again, as often as the settings say, and once in the unchecked build; `None` if it never failed.
pub fn repeat(
    executor: &mut Executor,
    op: &'static Op,
    case: &Case,
    signature: &Signature,
    first_run: NewRun,
    settings: &Settings,
) -> anyhow::Result<Option<Proof>> {
    let NewRun { violation: first, observations } = first_run;
    let any_outcome = |is: fn(&Outcome) -> bool| observations.iter().any(|seen| is(&seen.outcome));
    let hangs = any_outcome(|outcome| matches!(outcome, Outcome::TimedOut(_)));
    let fills_memory = any_outcome(|outcome| matches!(outcome, Outcome::OutOfMemory(_)));
    // Each of these runs takes seconds: three are enough, and after one full deadline the short one will do.
    let tries = if hangs || fills_memory { settings.tries.min(3) } else { settings.tries };
    let patience = if hangs { Patience::Short } else { Patience::Full };
    let mut failed = u32::from(first.is_some());
    let mut found = first;
    for _ in 1..tries {
        let again = violation(executor, op, case, patience)?;
        let again = again.filter(|violation| violation.signature(op.name) == *signature);
        failed += u32::from(again.is_some());
        found = found.or(again);
    }
    let Some(violation) = found else { return Ok(None) };
    let unchecked = unchecked(op, case, &violation, settings.limits)?;
    Ok(Some(Proof { violation, reproduction: Reproduction { tries, failed, unchecked }, observations }))
}

/// The result of the case in a build without debug assertions and overflow checks.
pub fn unchecked(op: &'static Op, case: &Case, violation: &Violation, limits: Limits) -> anyhow::Result<Unchecked> {
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
