//! Turns a change in a case into a difference: confirms it in new processes, and minimizes the case.

use super::pair::Pair;
use super::{Difference, Shared};
use crate::case::{Backward, Case};
use crate::ops::{Op, sequence};
use crate::oracle::Change;
use crate::outcome::Outcome;
use crate::report::changed;
use crate::settle::{Budget, Effort, Problem as _, Simplest, plainest, simplest};

impl Shared<'_> {
    /// Settles `change` in `case`, the `after_cases`-th that ran, unless that or a plainer one is claimed.
    pub(super) fn settle(
        &self,
        pair: &mut Pair,
        op: &'static Op,
        case: &Case,
        change: &Change,
        after_cases: u64,
    ) -> anyhow::Result<()> {
        let step = single_step(pair, case, change)?;
        let (op, case, change) = step.unwrap_or_else(|| (op, case.clone(), change.clone()));
        let is_new = |change: &Change| self.claims.claim(op.name, change).is_none();
        if !is_new(&change) {
            return Ok(());
        }
        if pair.prove(op, &case, &change, Effort::All)?.is_none() {
            self.compared().unsteady.insert(changed(op.name, &change));
            self.claims.miss(op.name, &change);
            return Ok(());
        }
        let (case, plain) = plainest(pair, op, case, change.clone())?;
        if !plain.is_same(&change) && !is_new(&plain) {
            return Ok(());
        }
        let budget = Budget { time: self.plan.minimize, attempts: usize::MAX };
        let Simplest { minimized, failure, proof, .. } = simplest(pair, op, case.clone(), &plain, budget)?;
        if !failure.is_same(&plain) && !is_new(&failure) {
            return Ok(());
        }
        let shown = match proof {
            Some(shown) => Some((minimized.case, shown)),
            // What only shows in this process has lost something on the way.
            None => pair.prove(op, &case, &plain, Effort::All)?.map(|shown| (case, shown)),
        };
        if let Some((case, (change, seen))) = shown {
            let difference = Difference { change, case, seen, minimal: minimized.finished, after_cases };
            (self.on_difference)(&difference);
            self.compared().differences.push(difference);
        }
        Ok(())
    }
}

/// The step of a sequence that shows a change of this class on its own, as a call of its own.
fn single_step(pair: &mut Pair, case: &Case, change: &Change) -> anyhow::Result<Option<(&'static Op, Case, Change)>> {
    for (place, step) in sequence::steps(case).into_iter().enumerate() {
        let mut call = step.call.clone();
        if place > 0 {
            let before = Case { backward: Backward::None, ..sequence::prefix(case, place) };
            let [base, _] = pair.observe(&before)?;
            let seen = base.observations.into_iter().find(|seen| seen.device == change.device);
            let Some(Outcome::Returned(returned)) = seen.map(|seen| seen.outcome) else { break };
            let Some(output) = returned.outputs.into_iter().next() else { break };
            call = step.on(Some(output));
        }
        let op = step.op;
        for backward in [Backward::None, case.backward] {
            let call = Case { backward, ..call.clone() };
            let mut found = if op.check(&call).is_ok() { pair.changes(op, &call)? } else { Vec::new() };
            if let Some(own) = found.iter().position(|other| other.class == change.class) {
                return Ok(Some((op, call, found.swap_remove(own))));
            }
        }
    }
    Ok(None)
}
