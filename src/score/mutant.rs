//! Runs one mutant: runs its kernel's cases on workers with the change, until one fails in a new way.

use std::sync::atomic::{AtomicBool, Ordering};

use super::baseline::{Baseline, BaselineCase, digest};
use super::{Chosen, Difference, Fate, Mutant, Noticed, Plan, numbers};
use crate::coverage::Coverage;
use crate::device::Device;
use crate::examine::{Examined, Patience, examine};
use crate::exec::environment::MUTATE;
use crate::exec::{Build, Executor, pool};
use crate::oracle::{Verdict, Violation};

/// Runs every chosen mutant, until `stop` is set. Calls `on_mutant` with the kernel of each.
pub fn run(
    plan: &Plan,
    baseline: &Baseline,
    chosen: &[Chosen],
    stop: &AtomicBool,
    on_mutant: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Vec<Mutant>> {
    let one = |(): &mut (), number: u64| {
        let chosen = &chosen[number as usize];
        on_mutant(&chosen.kernel);
        mutant(plan, baseline, chosen, stop)
    };
    pool::each(plan.jobs, numbers(chosen.len(), stop), || Ok(()), one, |()| Ok(()))
}

/// The fate of one mutant; `None` if `stop` was set before the end.
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
    let mut largest = Difference::NotReached;
    for baseline_case in cases {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let (noticed, difference) = compared(
            baseline_case,
            examine(&mut executor, baseline_case.op, &baseline_case.case, Patience::SHORT_THEN_FULL)?,
        );
        result.cases += 1;
        if let Some(Violation { oracle, kind, .. }) = noticed {
            result.fate = Fate::Noticed(Noticed { oracle, kind, op: baseline_case.op.name.to_string() });
            return Ok(Some(result));
        }
        largest = largest.max(difference);
    }
    // Up to the change the kernel behaves as usual, so the coverage shows whether a case entered the changed block.
    let reached = entered(&executor.finish()?, kernel, change.block);
    result.fate = Fate::Survived(if reached { largest.max(Difference::NoneSeen) } else { largest });
    Ok(Some(result))
}

/// Whether a kernel's block was entered.
fn entered(coverage: &Coverage, kernel: &str, block: usize) -> bool {
    let mut launched = coverage.kernels.iter().filter(|((_, name), _)| name == kernel);
    launched.any(|(_, counts)| counts.blocks.get(block).is_some_and(|count| *count > 0))
}

/// The violation on the simulated device that the case does not have without the change, if any, and the difference.
fn compared(baseline_case: &BaselineCase, examined: Examined) -> (Option<Violation>, Difference) {
    let difference = match &examined.verdict {
        _ if digest(&examined.observations) == baseline_case.digest => Difference::NotReached,
        Verdict::Pass => Difference::Allowed,
        Verdict::Skip(_) => Difference::NotPromised,
        // A failing case may return arbitrary memory: its bits prove nothing.
        Verdict::Fail(_) => Difference::NotReached,
    };
    let noticed = examined.violation().filter(|violation| {
        let failure = (violation.signature(baseline_case.op.name), violation.device);
        matches!(violation.device, Device::Sim(_)) && baseline_case.failure.as_ref() != Some(&failure)
    });
    (noticed, difference)
}
