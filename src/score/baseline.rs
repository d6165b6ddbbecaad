//! The baseline: the results of drawn cases without a change, and what they reach.

use std::collections::BTreeSet;
use std::hash::Hasher;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use siphasher::sip::SipHasher13;

use super::subject::{Reached, Subject, is_entered};
use super::trace::{Change, Changes};
use super::{Chosen, Plan, numbers};
use crate::case::Case;
use crate::coverage::Coverage;
use crate::device::Device;
use crate::examine::{Examined, Patience, examine};
use crate::exec::{Executor, pool};
use crate::generate::Mode;
use crate::hunt::Sample;
use crate::ops::Op;
use crate::oracle::{Signature, Violation};
use crate::outcome::{Observation, Outcome};

/// A case and its result without a change.
#[derive(Debug)]
pub struct BaselineCase {
    /// Its op.
    pub op: &'static Op,
    /// The case.
    pub case: Case,
    /// The signature and device of each of its violations.
    pub failures: BTreeSet<(Signature, Device)>,
    /// Whether it ends the worker.
    pub ends_worker: bool,
    /// A hash of what the devices did that mutants concern; none if a second run did something else.
    pub digest: Option<u64>,
    /// What it reaches.
    pub reached: Reached,
}

/// All drawn cases, and the possible changes.
#[derive(Debug)]
pub struct Baseline {
    /// The cases, except those that are late twice: they may merely be slow.
    pub cases: Vec<BaselineCase>,
    /// The changes of every kernel that is launched, or of every function.
    pub changes: Changes,
    /// The coverage of these cases.
    pub coverage: Coverage,
}

impl Baseline {
    /// Draws cases of every op in turn, as a hunt does, and runs them. Calls `on_case` with the op of each.
    pub fn observe(plan: &Plan, stop: &AtomicBool, on_case: &(dyn Fn(&str) + Sync)) -> anyhow::Result<Self> {
        let shared = Mutex::new((Changes::new(), Coverage::default()));
        let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
        let start = || {
            let mut watch = plan.subject.watch()?;
            let executor = Executor::start(&plan.devices, &plan.workers(watch.variable()))?;
            // What opening a device reaches is not due to a case.
            watch.reached()?;
            anyhow::Ok((executor, watch))
        };
        let cases = pool::each(
            plan.jobs,
            numbers(plan.ops.len() * plan.cases, stop),
            start,
            |(executor, watch), index| {
                let Sample { op, drawn, .. } = Sample::nth(&plan.ops, &Mode::ALL, plan.seed, index);
                on_case(op.name);
                let case = drawn.case;
                let mut examined = examine(executor, op, &case, Patience::Short)?;
                if examined.is_late() {
                    examined = examine(executor, op, &case, Patience::Short)?;
                }
                let reached = watch.reached()?;
                Ok((!examined.is_late()).then(|| baseline_case(&plan.subject, op, case, &examined, reached)))
            },
            |(executor, watch)| {
                let coverage = executor.finish()?;
                let mut total = lock();
                total.0.extend(watch.changes());
                total.1.merge(&coverage);
                Ok(())
            },
        )?;
        let (mut launched, coverage) = std::mem::take(&mut *lock());
        for (kernel, changes) in &mut launched {
            for change in changes {
                change.further_round &= !is_entered(&coverage, kernel, change);
            }
        }
        let changes = match &plan.subject {
            Subject::Kernels => launched,
            Subject::Host(changes) => changes.clone(),
        };
        Ok(Self { cases, changes, coverage })
    }

    /// Up to `count` cases that may reach a change, spread over the ops, the simplest first.
    pub fn cases_of(&self, chosen: &Chosen, change: &Change, count: usize) -> Vec<&BaselineCase> {
        // Cases were drawn from the ops in turn, so the first ones are spread over all ops.
        let reaching = self.cases.iter().filter(|baseline_case| baseline_case.reached.has(chosen, change));
        let mut cases: Vec<&BaselineCase> = reaching.take(count).collect();
        cases.sort_by_cached_key(|baseline_case| (baseline_case.ends_worker, baseline_case.case.complexity()));
        cases
    }
}

fn baseline_case(
    subject: &Subject,
    op: &'static Op,
    case: Case,
    examined: &Examined,
    reached: Reached,
) -> BaselineCase {
    let ends_worker = examined.observations.iter().any(|seen| seen.outcome.lost_the_process());
    let is_steady = examined.observations.iter().all(|seen| seen.again.is_none());
    let digest = is_steady.then(|| digest(subject, &examined.observations));
    let violations = examined.verdict.violations().iter();
    let on_devices = |it: &Violation| it.devices().map(|device| (it.signature(op.name), device)).collect::<Vec<_>>();
    let failures = violations.flat_map(on_devices).collect();
    BaselineCase { op, case, failures, ends_worker, digest, reached }
}

/// A hash of the observations on the devices that mutants concern: different bits give a different number.
pub fn digest(subject: &Subject, observations: &[Observation]) -> u64 {
    let mut hasher = SipHasher13::new();
    for mut seen in observations.iter().filter(|seen| subject.concerns(seen.device)).cloned() {
        let outcomes = [Some(&mut seen.outcome), seen.again.as_mut(), seen.contiguous.as_mut()];
        for outcome in outcomes.into_iter().flatten() {
            if let Outcome::Faulted(fault) = outcome {
                // It contains addresses, which depend on earlier cases of the worker.
                fault.message.clear();
            }
        }
        hasher.write(&rmp_serde::to_vec(&seen).expect("plain data"));
    }
    hasher.finish()
}
