//! Runs a case on every device and judges the observations. Decides how long a case may take.

mod bad_id;
mod original;

use crate::case::Case;
use crate::exec::{Deadline, Executor};
use crate::ops::{Contract, Op, SMALL, why};
use crate::oracle::{Evidence, Verdict, Violation, judge, judge_costs};
use crate::outcome::{Observation, Outcome};

pub use bad_id::BadId;
pub use original::Original;

/// How long a case may take before it counts as a hang. An ordinary case takes milliseconds, but a hang costs the whole
/// deadline on every device. So most callers try the short deadline first.
#[derive(Clone, Copy)]
pub enum Patience<'a> {
    /// A fiftieth of the deadline. A late case may merely be slow.
    Short,
    /// The whole deadline.
    Full,
    /// The short deadline first. If the case is late, and it is large or this returns true for the verdict, the whole deadline.
    ShortThenFull(&'a dyn Fn(&Verdict) -> bool),
}

impl Patience<'_> {
    /// The short deadline first, and the whole one for every late case.
    pub const SHORT_THEN_FULL: Patience<'static> = Patience::ShortThenFull(&|_| true);
}

/// The observations of a case, and the verdict.
#[derive(Debug)]
pub struct Examined {
    /// The verdict of all oracles.
    pub verdict: Verdict,
    /// The observation on each device.
    pub observations: Vec<Observation>,
}

impl Examined {
    /// Whether a device did not finish in time.
    pub fn is_late(&self) -> bool {
        let is_late = |outcome: &Outcome| matches!(outcome, Outcome::TimedOut(_));
        self.observations.iter().any(|seen| is_late(&seen.outcome) || seen.contiguous.as_ref().is_some_and(is_late))
    }
}

/// Observes and judges `case`. Skips cases without a contract that take seconds.
pub fn examine(executor: &mut Executor, op: &'static Op, case: &Case, patience: Patience) -> anyhow::Result<Examined> {
    let contract = op.contract(case);
    if contract == Contract::Unspecified(why::TOO_LARGE) {
        return Ok(Examined { verdict: Verdict::Skip(why::TOO_LARGE), observations: Vec::new() });
    }
    let mut within = |deadline| {
        let observations = executor.observe(case, deadline)?;
        let evidence = Evidence::new(op, case, &observations);
        let verdict = if executor.spec().only_costs { judge_costs(&evidence) } else { judge(&evidence) };
        anyhow::Ok(Examined { verdict, observations })
    };
    match patience {
        Patience::Short => within(Deadline::Short),
        Patience::Full => within(Deadline::Full),
        Patience::ShortThenFull(is_worth_it) => {
            let first = within(Deadline::Short)?;
            let may_be_slow = contract.elements(case) > SMALL;
            if first.is_late() && (may_be_slow || is_worth_it(&first.verdict)) {
                within(Deadline::Full)
            } else {
                Ok(first)
            }
        }
    }
}

/// Every violation of `case`, the main one first.
pub fn violations(
    executor: &mut Executor,
    op: &'static Op,
    case: &Case,
    patience: Patience,
) -> anyhow::Result<Vec<Violation>> {
    Ok(examine(executor, op, case, patience)?.verdict.violations().to_vec())
}
