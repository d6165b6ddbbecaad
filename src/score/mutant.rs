//! Runs one mutant: runs cases that reach it on workers with the change, until one fails in a new way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::baseline::{Baseline, BaselineCase, digest};
use super::subject::{Subject, has_effect, is_entered};
use super::{Chosen, Difference, Fate, Mutant, Noticed, Plan, numbers};
use crate::examine::{Examined, Patience, examine};
use crate::exec::{DeviceLost, Executor, pool};
use crate::oracle::{Spot, Verdict, Violation};
use crate::outcome::Place;

/// Functions of kernels that only choose between a fast way and a general one to the same result. If a mutant of such a function
/// took the fast way where it is wrong, bits would differ.
const CHOOSING: [&str; 1] = ["is_contiguous (candle-kernels/src/cuda_utils.cuh)"];

/// Runs every chosen mutant, until `stop` is set. Calls `on_mutant` with the kernel or function of each.
pub fn run(
    plan: &Plan,
    baseline: &Baseline,
    chosen: &[Chosen],
    stop: &AtomicBool,
    on_mutant: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Vec<Mutant>> {
    let one = |(): &mut (), number: u64| {
        let chosen = &chosen[number as usize];
        on_mutant(&chosen.of);
        mutant(plan, baseline, chosen, stop)
    };
    pool::each(plan.jobs, numbers(chosen.len(), stop), || Ok(()), one, |()| Ok(()))
}

/// The fate of one mutant; `None` if `stop` was set before the end.
fn mutant(plan: &Plan, baseline: &Baseline, chosen: &Chosen, stop: &AtomicBool) -> anyhow::Result<Option<Mutant>> {
    let begun = Instant::now();
    let change = &baseline.changes[&chosen.of][chosen.number];
    let (name, variable) = plan.subject.switch(chosen, change);
    let cases = baseline.cases_of(chosen, change, plan.cases);
    let mut result = Mutant {
        name,
        change: change.what.clone(),
        place: change.place.clone(),
        code: change.code.clone(),
        cases: 0,
        seconds: 0.0,
        fate: Fate::Survived(Difference::NotReached),
    };
    let without_change = match plan.subject {
        Subject::Kernels if !is_entered(&baseline.coverage, &chosen.of, change) => Some(Difference::NotReached),
        // A branch that never goes the way that the change forbids.
        Subject::Kernels if change.effect.is_some_and(|effect| effect.own) => {
            (!has_effect(&baseline.coverage, &chosen.of, change)).then_some(Difference::NoEffect)
        }
        Subject::Kernels => None,
        Subject::Host(_) => cases.is_empty().then_some(Difference::NotReached),
    };
    if let Some(difference) = without_change {
        return Ok(Some(Mutant { fate: Fate::Survived(difference), ..result }));
    }
    let started = Executor::start(&plan.devices, &plan.workers(variable));
    let mut executor = match started {
        // The workers of the baseline started.
        Err(error) if error.is::<DeviceLost>() => {
            result.seconds = begun.elapsed().as_secs_f64();
            return Ok(Some(Mutant { fate: Fate::NotStarted, ..result }));
        }
        started => started?,
    };
    let mut largest = Difference::NotReached;
    for &baseline_case in &cases {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let examined = examine(&mut executor, baseline_case.op, &baseline_case.case, Patience::SHORT_THEN_FULL)?;
        let (noticed, difference) = compared(&plan.subject, baseline_case, &examined);
        result.cases += 1;
        result.seconds = begun.elapsed().as_secs_f64();
        if let Some(Violation { oracle, kind, .. }) = noticed {
            result.fate = Fate::Noticed(Noticed { oracle, kind, op: baseline_case.op.name.to_string() });
            return Ok(Some(result));
        }
        largest = largest.max(difference);
    }
    // Up to the change everything behaves as usual, so the coverage shows whether a case entered the changed block.
    let coverage = executor.finish()?;
    let is_host = matches!(plan.subject, Subject::Host(_));
    largest = largest.max(if !is_host && !is_entered(&coverage, &chosen.of, change) {
        Difference::NotReached
    } else if !is_host && !has_effect(&coverage, &chosen.of, change) {
        Difference::NoEffect
    } else if cases.iter().all(|baseline_case| !baseline_case.failures.is_empty()) {
        Difference::FailsAnyway
    } else if is_choosing(&change.place) && largest < Difference::NoneSeen {
        Difference::AnotherWay
    } else {
        Difference::NoneSeen
    });
    result.fate = Fate::Survived(largest);
    Ok(Some(result))
}

fn is_choosing(place: &str) -> bool {
    Spot::of(&Place::from(place)).is_some_and(|spot| CHOOSING.contains(&spot.to_string().as_str()))
}

/// The violation that the case does not have without the change, if any, and the difference.
fn compared(subject: &Subject, baseline_case: &BaselineCase, examined: &Examined) -> (Option<Violation>, Difference) {
    let is_same = |digest_before| digest_before == digest(subject, &examined.observations);
    let difference = match &examined.verdict {
        // If two runs differ without the change, a difference proves nothing.
        _ if baseline_case.digest.is_none_or(is_same) => Difference::NotReached,
        Verdict::Pass => Difference::Allowed,
        Verdict::Partly(_) | Verdict::Skip(_) => Difference::NotPromised,
        // A failing case may return arbitrary memory: its bits prove nothing.
        Verdict::Fail(_) => Difference::NotReached,
    };
    let is_new = |violation: &&Violation| {
        let signature = violation.signature(baseline_case.op.name);
        let mut concerned = violation.devices().filter(|device| subject.concerns(*device));
        concerned.any(|device| !baseline_case.failures.contains(&(signature.clone(), device)))
    };
    (examined.verdict.violations().iter().find(is_new).cloned(), difference)
}
