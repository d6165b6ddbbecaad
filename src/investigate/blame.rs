//! Which call is at fault: the first step of a sequence whose prefix fails, and in which pass.

use crate::case::{Backward, Case};
use crate::examine::{Patience, violations};
use crate::exec::{Deadline, Executor};
use crate::ops::{self, Op, sequence};
use crate::oracle::Violation;
use crate::outcome::Outcome;

/// The call at fault.
#[derive(Debug)]
pub struct Blame {
    /// Its number in the sequence, from 1; 1 for a single call.
    pub step: usize,
    /// Its op.
    pub op: &'static Op,
    /// Whether it fails only in the backward pass.
    pub backward: bool,
    /// How it fails.
    pub violation: Violation,
}

/// Runs longer and longer prefixes of `case`, forward before backward, up to the first that fails. Each run waits for the
/// device, so a late error is charged to the call that caused it.
pub fn blame(executor: &mut Executor, case: &Case) -> anyhow::Result<Option<Blame>> {
    let calls = case.calls();
    for step in 1..=calls.len().max(1) {
        let (name, prefix) = match calls.get(step - 1) {
            Some(call) => (&call.op, sequence::prefix(case, step)),
            None => (&case.op, case.clone()),
        };
        let (Some(op), Some(whole)) = (ops::find(name), ops::find(&case.op)) else { return Ok(None) };
        for backward in gentlest_first(case.backward) {
            let prefix = Case { backward, ..prefix.clone() };
            if let Some(violation) = violations(executor, whole, &prefix, Patience::Full)?.into_iter().next() {
                return Ok(Some(Blame { step, op, backward: !backward.is_none(), violation }));
            }
        }
    }
    Ok(None)
}

/// No backward pass, the one of the case, and a weighted one: as from later steps, its gradient is not a broadcast scalar.
fn gentlest_first(backward: Backward) -> impl Iterator<Item = Backward> {
    let more = (!backward.is_none()).then_some([backward, Backward::Weighted]);
    std::iter::once(Backward::None).chain(more.into_iter().flatten())
}

/// The failing step of a sequence as a single call on the outputs of earlier steps, if that call fails on its own, and how.
pub fn failing_step(executor: &mut Executor, case: &Case) -> anyhow::Result<Option<(Case, Vec<Violation>)>> {
    if case.steps.is_empty() {
        return Ok(None);
    }
    let Some(blame) = blame(executor, case)? else { return Ok(None) };
    let backward = if blame.backward { case.backward } else { Backward::None };
    let step = sequence::steps(case).swap_remove(blame.step - 1);
    let mut call = step.call.clone();
    if blame.step > 1 {
        let before = Case { backward: Backward::None, ..sequence::prefix(case, blame.step - 1) };
        let observations = executor.observe(&before, Deadline::Full)?;
        let output = observations.into_iter().find_map(|seen| match seen.outcome {
            Outcome::Returned(returned) if seen.device == blame.violation.device => returned.outputs.into_iter().next(),
            _ => None,
        });
        let Some(output) = output else { return Ok(None) };
        call = step.on(Some(output));
    }
    for backward in gentlest_first(backward) {
        let call = Case { backward, ..call.clone() };
        let violations = violations(executor, blame.op, &call, Patience::Full)?;
        if !violations.is_empty() {
            return Ok(Some((call, violations)));
        }
    }
    Ok(None)
}

impl std::fmt::Display for Blame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pass = if self.backward { "backward" } else { "forward" };
        let Violation { oracle, kind, device, .. } = &self.violation;
        write!(f, "step {}, {} {pass} on {device}: {kind} ({oracle})", self.step, self.op.name)
    }
}
