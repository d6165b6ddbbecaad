//! One mutant: its kernel's cases are run on workers that have the change, until one of them fails as it does not without.

use std::sync::atomic::{AtomicBool, Ordering};

use super::baseline::{Baseline, Healthy, digest};
use super::{Chosen, Difference, Fate, Mutant, Noticed, Plan, numbers};
use crate::coverage::Coverage;
use crate::device::Device;
use crate::examine::{Examined, Patience, examine};
use crate::exec::environment::MUTATE;
use crate::exec::{Build, Executor, pool};
use crate::oracle::{Verdict, Violation};

/// Runs every chosen mutant; those that `stop` leaves are not in the answer. `told` hears of each.
pub fn run(
    plan: &Plan,
    baseline: &Baseline,
    chosen: &[Chosen],
    stop: &AtomicBool,
    told: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Vec<Mutant>> {
    let one = |(): &mut (), number: u64| {
        let chosen = &chosen[number as usize];
        told(&chosen.kernel);
        mutant(plan, baseline, chosen, stop)
    };
    pool::each(plan.jobs, numbers(chosen.len(), stop), || Ok(()), one, |()| Ok(()))
}

/// What becomes of one mutant; `None` where `stop` came before the end.
fn mutant(plan: &Plan, baseline: &Baseline, chosen: &Chosen, stop: &AtomicBool) -> anyhow::Result<Option<Mutant>> {
    let Chosen { kernel, number } = chosen;
    let change = &baseline.changes[kernel][*number];
    let name = format!("{kernel}:#{number}");
    let cases = baseline.cases_of(kernel, plan.cases);
    let mut result = Mutant {
        name: name.clone(),
        change: change.what.clone(),
        place: change.place.clone(),
        cases: 0,
        fate: Fate::Survived(Difference::NotReached),
    };
    if !entered(&baseline.coverage, kernel, change.block) {
        return Ok(Some(result));
    }
    let mut executor = Executor::start_with(&plan.devices, Build::Checked, plan.limits, &[(MUTATE, name.into())])?;
    let mut seen = Difference::NotReached;
    for healthy in cases {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let (noticed, difference) =
            compared(healthy, examine(&mut executor, healthy.op, &healthy.case, Patience::SHORT_THEN_FULL)?);
        result.cases += 1;
        if let Some(Violation { oracle, kind, .. }) = noticed {
            result.fate = Fate::Noticed(Noticed { oracle, kind, op: healthy.op.name.to_string() });
            return Ok(Some(result));
        }
        seen = seen.max(difference);
    }
    // Up to the change, the kernel does what it always did: its block is entered by the first case that comes there.
    let reached = entered(&executor.finish()?, kernel, change.block);
    result.fate = Fate::Survived(if reached { seen.max(Difference::NoneSeen) } else { seen });
    Ok(Some(result))
}

/// Whether a kernel's block was entered.
fn entered(coverage: &Coverage, kernel: &str, block: usize) -> bool {
    let of = coverage.kernels.iter().filter(|((_, name), _)| name == kernel);
    of.into_iter().any(|(_, counts)| counts.blocks.get(block).is_some_and(|count| *count > 0))
}

/// The violation on the simulated device that the case does not have without the change, and else what differs.
fn compared(healthy: &Healthy, examined: Examined) -> (Option<Violation>, Difference) {
    let difference = match &examined.verdict {
        _ if digest(&examined.observations) == healthy.digest => Difference::NotReached,
        Verdict::Pass => Difference::Allowed,
        Verdict::Skip(_) => Difference::NotPromised,
        // A failure may show whatever lies in memory: its bits say nothing.
        Verdict::Fail(_) => Difference::NotReached,
    };
    let noticed = examined.violation().filter(|violation| {
        let failure = (violation.signature(healthy.op.name), violation.device);
        matches!(violation.device, Device::Sim(_)) && healthy.failure.as_ref() != Some(&failure)
    });
    (noticed, difference)
}
