//! Two candles side by side: workers of both, and what changes between them in a case.

use std::ffi::OsString;

use super::Plan;
use crate::case::Case;
use crate::exec::{Build, Deadline, Executor, Variable};
use crate::ops::Op;
use crate::oracle::{Change, Evidence, changes};
use crate::outcome::{Observation, Outcome};

/// How often a change is confirmed, in new workers each time.
const ROUNDS: u8 = 3;

/// The observations with both candles.
pub type Both = [Vec<Observation>; 2];

/// Workers of both candles.
pub struct Pair([Executor; 2]);

impl Pair {
    /// Starts workers of both.
    pub fn start(plan: &Plan) -> anyhow::Result<Self> {
        Self::start_with(plan, &[])
    }

    fn start_with(plan: &Plan, variables: &[Variable]) -> anyhow::Result<Self> {
        let start = |limits| Executor::start_with(&plan.devices, Build::Checked, limits, variables);
        Ok(Self([start(plan.limits[0])?, start(plan.limits[1])?]))
    }

    /// What both do with `case`. Both have the whole deadline if one is late.
    pub fn observe(&mut self, case: &Case) -> anyhow::Result<Both> {
        let short = self.within(case, Deadline::Short)?;
        if short.iter().flatten().any(is_late) { self.within(case, Deadline::Full) } else { Ok(short) }
    }

    fn within(&mut self, case: &Case, deadline: Deadline) -> anyhow::Result<Both> {
        let [base, head] = &mut self.0;
        Ok([base.observe(case, deadline)?, head.observe(case, deadline)?])
    }

    /// The changes in `case`.
    pub fn changes(&mut self, op: &'static Op, case: &Case) -> anyhow::Result<Vec<Change>> {
        let [base, head] = self.observe(case)?;
        Ok(between(op, case, &base, &head))
    }

    /// Shuts the workers down.
    pub fn finish(self) -> anyhow::Result<()> {
        self.0.into_iter().try_for_each(|executor| executor.finish().map(|_| ()))
    }
}

fn is_late(seen: &Observation) -> bool {
    let is_late = |outcome: &Outcome| matches!(outcome, Outcome::TimedOut(_));
    is_late(&seen.outcome) || seen.contiguous.as_ref().is_some_and(is_late)
}

/// What changes in `case` from one observation to the other.
fn between(op: &'static Op, case: &Case, base: &[Observation], head: &[Observation]) -> Vec<Change> {
    changes(&Evidence::new(op, case, base), &Evidence::new(op, case, head))
}

/// What both do with `case` in new processes, if `change` shows there every time and neither candle differs from itself. Fresh
/// memory has other bytes each time, so what depends on them is no change.
pub fn confirmed(plan: &Plan, op: &'static Op, case: &Case, change: &Change) -> anyhow::Result<Option<(Change, Both)>> {
    let mut first: Option<(Change, Both)> = None;
    for round in 1..=ROUNDS {
        let fill = OsString::from(format!("glibc.malloc.perturb={}", 80 * u16::from(round)));
        let seen = Pair::start_with(plan, &[("GLIBC_TUNABLES", fill)])?.observe(case)?;
        let shows = |base: &[Observation], head: &[Observation]| {
            between(op, case, base, head).into_iter().find(|other| other.is_same(change))
        };
        let Some(own) = shows(&seen[0], &seen[1]) else { return Ok(None) };
        let Some((_, before)) = &first else {
            let is_late = seen.iter().flatten().any(is_late);
            first = Some((own, seen));
            // A hang costs seconds, and the deadline counts processor time.
            if is_late { break } else { continue }
        };
        let differs_from_itself = before
            .iter()
            .zip(&seen)
            .any(|(before, now)| between(op, case, before, now).iter().any(|other| other.class == change.class));
        if differs_from_itself {
            return Ok(None);
        }
    }
    Ok(first)
}
