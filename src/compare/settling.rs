//! Turns a change in a case into a difference: confirms it in new processes, and minimizes the case.

use std::time::Instant;

use super::pair::{Pair, confirmed};
use super::{Difference, Shared};
use crate::case::{Backward, Case};
use crate::ops::{Op, find, sequence};
use crate::oracle::Change;
use crate::outcome::Outcome;
use crate::report::changed;
use crate::settle::minimize::minimize;
use crate::settle::{PLAINER, keeps};

/// How often an unsteady change is tried again, with another case each time.
const TRIES: u32 = 3;

/// A change of an op that some thread settles or has settled.
#[derive(Debug)]
pub struct Claim {
    op: &'static str,
    change: Change,
    /// How often it did not happen again in new processes.
    misses: u32,
    /// Whether the next case may settle it.
    is_free: bool,
}

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
        let (op, case, change) = match single_step(pair, case, change)? {
            Some(step) => step,
            None => (op, case.clone(), change.clone()),
        };
        if !self.claim_change(op, &change) {
            return Ok(());
        }
        if confirmed(self.plan, op, &case, &change)?.is_none() {
            self.release(op, &change);
            return Ok(());
        }
        let (case, plain) = plainest(pair, op, case, &change)?;
        if !plain.is_same(&change) && !self.claim_change(op, &plain) {
            return Ok(());
        }
        let change = plain;
        let (simpler, plainer, minimal) = self.minimized(pair, op, &case, &change)?;
        if !plainer.is_same(&change) && !self.claim_change(op, &plainer) {
            return Ok(());
        }
        let shown = match confirmed(self.plan, op, &simpler, &plainer)? {
            Some(shown) => Some((simpler, shown)),
            // What only shows in this process has lost something on the way.
            None => confirmed(self.plan, op, &case, &change)?.map(|shown| (case, shown)),
        };
        if let Some((case, (change, seen))) = shown {
            let difference = Difference { change, case, seen, minimal, after_cases };
            (self.on_difference)(&difference);
            self.state().compared.differences.push(difference);
        }
        Ok(())
    }

    /// Claims a change for this thread, unless one that covers it is claimed, or it was unsteady too often.
    fn claim_change(&self, op: &'static Op, change: &Change) -> bool {
        let claims = &mut self.state().claims;
        let own = claims.iter().position(|claim| claim.op == op.name && claim.change.is_same(change));
        if let Some(own) = own.map(|own| &mut claims[own]) {
            return std::mem::take(&mut own.is_free);
        }
        if claims.iter().any(|claim| claim.op == op.name && claim.misses == 0 && claim.change.covers(change)) {
            return false;
        }
        claims.push(Claim { op: op.name, change: change.clone(), misses: 0, is_free: false });
        true
    }

    /// Ends the claim on a change that did not happen again.
    fn release(&self, op: &'static Op, change: &Change) {
        let mut state = self.state();
        state.compared.unsteady.insert(changed(op.name, change));
        let is_it = |claim: &&mut Claim| claim.op == op.name && claim.change.is_same(change);
        if let Some(claim) = state.claims.iter_mut().find(is_it) {
            claim.misses += 1;
            claim.is_free = claim.misses < TRIES;
        }
    }

    /// The simplest case that shows `change` or a plainer one, that, and whether the minimizer came to its end.
    fn minimized(
        &self,
        pair: &mut Pair,
        op: &'static Op,
        case: &Case,
        change: &Change,
    ) -> anyhow::Result<(Case, Change, bool)> {
        let (started, mut plainest, mut contract) = (Instant::now(), change.clone(), op.contract(case));
        let minimized = minimize(case.clone(), |candidate| -> anyhow::Result<Option<bool>> {
            if started.elapsed() > self.plan.minimize {
                return Ok(None);
            }
            let promised = op.contract(candidate);
            if op.check(candidate).is_err() || !keeps(&contract, &promised) {
                return Ok(Some(false));
            }
            let found = pair.changes(op, candidate)?;
            let same = found.iter().find(|other| other.is_same(&plainest));
            let Some(same) = same.or_else(|| found.iter().find(|other| other.covers(&plainest))) else {
                return Ok(Some(false));
            };
            (plainest, contract) = (same.clone(), promised);
            Ok(Some(true))
        })?;
        Ok((minimized.case, plainest, minimized.finished))
    }
}

/// The plainest form of a change: in `f32` instead of another float dtype and with finite values, if it shows there, too. Otherwise
/// one cause would be several differences.
fn plainest(pair: &mut Pair, op: &'static Op, case: Case, change: &Change) -> anyhow::Result<(Case, Change)> {
    let (mut case, mut change) = (case, change.clone());
    for plainer in PLAINER {
        let simpler = plainer(&case);
        if simpler == case || !keeps(&op.contract(&case), &op.contract(&simpler)) {
            continue;
        }
        let found = pair.changes(op, &simpler)?;
        if let Some(plain) = found.into_iter().find(|other| change.is_plainly(other)) {
            (case, change) = (simpler, plain);
        }
    }
    Ok((case, change))
}

/// The step of a sequence that shows a change of this class on its own, as a call of its own.
fn single_step(pair: &mut Pair, case: &Case, change: &Change) -> anyhow::Result<Option<(&'static Op, Case, Change)>> {
    for (place, call) in case.calls().into_iter().enumerate() {
        let Some(op) = find(&call.op) else { continue };
        let mut call = call;
        if place > 0 {
            let before = Case { backward: Backward::None, ..sequence::prefix(case, place) };
            let [base, _] = pair.observe(&before)?;
            let seen = base.observations.into_iter().find(|seen| seen.device == change.device);
            let Some(Outcome::Returned(returned)) = seen.map(|seen| seen.outcome) else { break };
            let Some(output) = returned.outputs.into_iter().next() else { break };
            call = call.input(op.support.of, output);
        }
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
