//! Two candles side by side: workers of both, and what changes between them in a case.

use std::ffi::OsString;

use super::Plan;
use crate::case::Case;
use crate::examine::Patience;
use crate::exec::{Cost, Deadline, Executor, Variable, WorkerSpec};
use crate::ops::Op;
use crate::oracle::{Change, Evidence, Spent, changes, costlier};
use crate::outcome::{Observation, Outcome};
use crate::settle::{Effort, Failure, Problem, Seen};

/// How often a change is confirmed, in new workers each time.
const ROUNDS: u8 = 3;

/// What one candle does with a case.
#[derive(Debug)]
pub struct Side {
    /// The observation on each device.
    pub observations: Vec<Observation>,
    /// What it cost there; `None` where that was not measured.
    spent: Vec<Option<Spent>>,
}

/// What both do with a case.
pub type Both = [Side; 2];

impl Side {
    /// Runs `case` in these workers.
    fn observe(executor: &mut Executor, case: &Case, deadline: Deadline) -> anyhow::Result<Self> {
        let before = executor.costs();
        let observations = executor.observe(case, deadline)?;
        let spent = |(after, before): (Option<Cost>, Option<Cost>)| {
            let Cost { processor, peak_kib, .. } = after?.since(before?)?;
            Some(Spent { processor_us: processor.as_micros() as u64, peak_kib })
        };
        Ok(Self { observations, spent: executor.costs().into_iter().zip(before).map(spent).collect() })
    }

    fn is_late(&self) -> bool {
        let is_late = |outcome: &Outcome| matches!(outcome, Outcome::TimedOut(_));
        self.observations.iter().any(|seen| is_late(&seen.outcome) || seen.contiguous.as_ref().is_some_and(is_late))
    }
}

/// Workers of both candles.
pub struct Pair<'a> {
    plan: &'a Plan,
    workers: [Executor; 2],
}

impl<'a> Pair<'a> {
    /// Starts workers of both.
    pub fn start(plan: &'a Plan) -> anyhow::Result<Self> {
        Self::start_with(plan, &[])
    }

    fn start_with(plan: &'a Plan, variables: &[Variable]) -> anyhow::Result<Self> {
        let start = |spec: &WorkerSpec| Executor::start(&plan.devices, &spec.with(variables.iter().cloned()));
        Ok(Self { plan, workers: [start(&plan.specs[0])?, start(&plan.specs[1])?] })
    }

    /// What both do with `case`. Both have the whole deadline if one is late.
    pub fn observe(&mut self, case: &Case) -> anyhow::Result<Both> {
        let short = self.within(case, Deadline::Short)?;
        if short.iter().any(Side::is_late) { self.within(case, Deadline::Full) } else { Ok(short) }
    }

    fn within(&mut self, case: &Case, deadline: Deadline) -> anyhow::Result<Both> {
        let [base, head] = &mut self.workers;
        Ok([Side::observe(base, case, deadline)?, Side::observe(head, case, deadline)?])
    }

    /// The changes in `case`.
    pub fn changes(&mut self, op: &'static Op, case: &Case) -> anyhow::Result<Vec<Change>> {
        let [base, head] = self.observe(case)?;
        Ok(between(op, case, &base, &head))
    }

    /// Shuts the workers down.
    pub fn finish(self) -> anyhow::Result<()> {
        self.workers.into_iter().try_for_each(|executor| executor.finish().map(|_| ()))
    }
}

/// What changes in `case` from one side to the other. What it costs is compared only if both return the same.
pub fn between(op: &'static Op, case: &Case, base: &Side, head: &Side) -> Vec<Change> {
    let found = changes(&Evidence::new(op, case, &base.observations), &Evidence::new(op, case, &head.observations));
    if !found.is_empty() {
        return found;
    }
    let returned = |side: &Side, place: usize| matches!(side.observations[place].outcome, Outcome::Returned(_));
    let costs = base.spent.iter().zip(&head.spent).enumerate();
    // A GPU works outside of the process.
    let is_here = |place: usize| !base.observations[place].device.is_gpu();
    let measured = costs.filter(|(place, _)| is_here(*place) && returned(base, *place) && returned(head, *place));
    let judged = measured
        .filter_map(|(place, (before, after))| Some(costlier(base.observations[place].device, (*before)?, (*after)?)));
    judged.flatten().collect()
}

impl Failure for Change {
    fn is_same(&self, other: &Self) -> bool {
        Self::is_same(self, other)
    }

    fn covers(&self, other: &Self) -> bool {
        Self::covers(self, other)
    }

    fn plain_form<'a>(&self, found: &'a [Self]) -> Option<&'a Self> {
        found.iter().find(|other| self.is_plainly(other))
    }
}

impl Problem for Pair<'_> {
    type Failure = Change;
    type Proof = (Change, Both);

    /// [`Pair::observe`] has patience of its own.
    fn failures(&mut self, op: &'static Op, case: &Case, _: Patience) -> anyhow::Result<Seen<Change>> {
        Ok(Seen { failures: self.changes(op, case)?, is_late: false })
    }

    /// What both do with `case` in new processes, if `change` shows there every time and neither candle differs from itself. Fresh
    /// memory has other bytes each time, so what depends on them is no change.
    fn prove(
        &mut self,
        op: &'static Op,
        case: &Case,
        change: &Change,
        _: Effort,
    ) -> anyhow::Result<Option<(Change, Both)>> {
        let mut first: Option<(Change, Both)> = None;
        for round in 1..=ROUNDS {
            let fill = OsString::from(format!("glibc.malloc.perturb={}", 80 * u16::from(round)));
            let seen = Pair::start_with(self.plan, &[("GLIBC_TUNABLES", fill)])?.observe(case)?;
            let shown = between(op, case, &seen[0], &seen[1]).into_iter().find(|other| other.is_same(change));
            let Some(shown) = shown else { return Ok(None) };
            match &first {
                None => {
                    let is_late = seen.iter().any(Side::is_late);
                    first = Some((shown, seen));
                    // A hang costs seconds, and the deadline counts processor time.
                    if is_late {
                        break;
                    }
                }
                Some((_, before)) => {
                    let differs = |(before, now): (&Side, &Side)| {
                        between(op, case, before, now).iter().any(|other| change.is_doubted_by(other))
                    };
                    if before.iter().zip(&seen).any(differs) {
                        return Ok(None);
                    }
                }
            }
        }
        Ok(first)
    }
}
