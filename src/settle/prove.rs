//! Proof that a minimized case fails: in new processes, several times, and in the unchecked build.

use super::Effort;
use crate::case::Case;
use crate::device::Device;
use crate::examine::{Patience, violations};
use crate::exec::{Build, Deadline, Executor, Worker, WorkerSpec};
use crate::ops::{self, Op};
use crate::oracle::{Evidence, Kind, Signature, Violation, judge};
use crate::outcome::{Observation, Outcome};
use crate::store::{Reproduction, Unchecked};

/// A failure that happened again.
#[derive(Debug)]
pub struct Proof {
    /// The violation.
    pub violation: Violation,
    /// How reliably it happens.
    pub reproduction: Reproduction,
    /// What the devices did in new processes.
    pub observations: Vec<Observation>,
}

/// Runs `case` in new processes, again as often as `tries` says, and once in the unchecked build; `None` if it does not fail with
/// `signature`.
pub fn prove(
    executor: &mut Executor,
    op: &'static Op,
    case: &Case,
    signature: &Signature,
    effort: Effort,
    tries: u32,
) -> anyhow::Result<Option<Proof>> {
    let observations = executor.observe_in_new_workers(case)?;
    let verdict = judge(&Evidence::new(op, case, &observations));
    let mut found = with(signature, verdict.violations()).cloned();
    if found.is_none() && effort == Effort::One {
        return Ok(None);
    }
    let any_outcome = |is: fn(&Outcome) -> bool| observations.iter().any(|seen| is(&seen.outcome));
    let hangs = any_outcome(|outcome| matches!(outcome, Outcome::TimedOut(_)));
    let fills_memory = any_outcome(|outcome| matches!(outcome, Outcome::OutOfMemory(_)));
    // Each of these runs takes seconds: three are enough, and after one full deadline the short one will do.
    let tries = if hangs || fills_memory { tries.min(3) } else { tries };
    let patience = if hangs { Patience::Short } else { Patience::Full };
    let mut failed = u32::from(found.is_some());
    for _ in 1..tries {
        let again = violations(executor, op, case, patience)?;
        let again = with(signature, &again);
        failed += u32::from(again.is_some());
        found = found.or(again.cloned());
    }
    let Some(violation) = found else { return Ok(None) };
    let unchecked = unchecked(op, case, &violation, executor.spec())?;
    Ok(Some(Proof { violation, reproduction: Reproduction { tries, failed, unchecked }, observations }))
}

/// The result of the case in a build without debug assertions and overflow checks.
pub fn unchecked(op: &'static Op, case: &Case, violation: &Violation, spec: &WorkerSpec) -> anyhow::Result<Unchecked> {
    let device = violation.device;
    if spec.own.is_some() {
        return Ok(Unchecked::NotRun("a program has one build".to_string()));
    }
    let mut worker = match Worker::start(device, &WorkerSpec { build: Build::Unchecked, ..spec.clone() }) {
        Ok(worker) => worker,
        Err(_) if device != Device::Cpu => return Ok(Unchecked::NotRun(format!("no such build for {device}"))),
        Err(missing) => return Ok(Unchecked::NotRun(missing.to_string())),
    };
    if violation.kind == Kind::Hang {
        // It hung for a full deadline in the checked build, which is slower.
        worker.set_deadline(Deadline::Short);
    }
    let answer = worker.run(case)?;
    let contiguous = if case.is_plain() { None } else { Some(worker.run_once(&case.contiguous())?) };
    let sibling = match ops::beside(case, &answer.outcome) {
        Some(sibling) => Some(worker.run_once(&sibling)?),
        None => None,
    };
    let observations = [Observation { contiguous, sibling, ..answer.on(device) }];
    let verdict = judge(&Evidence::new(op, case, &observations));
    let same = with(&violation.signature(op.name).on_one_device(), verdict.violations()).is_some();
    Ok(if same { Unchecked::Same } else { Unchecked::Other(observations[0].outcome.does()) })
}

/// The violation with this signature.
fn with<'a>(signature: &Signature, violations: &'a [Violation]) -> Option<&'a Violation> {
    violations.iter().find(|violation| violation.signature(&signature.op) == *signature)
}
