//! The baseline: the results of drawn cases without a change, and the kernels that they launch.

use std::collections::BTreeSet;
use std::hash::Hasher;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use siphasher::sip::SipHasher13;

use super::trace::{Changes, Trace};
use super::{Plan, numbers};
use crate::case::Case;
use crate::coverage::Coverage;
use crate::device::Device;
use crate::examine::{Examined, Patience, examine};
use crate::exec::{Build, Executor, pool};
use crate::generate::Mode;
use crate::hunt::Sample;
use crate::ops::Op;
use crate::oracle::Signature;
use crate::outcome::{Observation, Outcome};

/// A case and its result without a change.
#[derive(Debug)]
pub struct BaselineCase {
    /// Its op.
    pub op: &'static Op,
    /// The case.
    pub case: Case,
    /// The signature and device of its failure, if it fails.
    pub failure: Option<(Signature, Device)>,
    /// Whether it ends the worker.
    pub ends_worker: bool,
    /// A hash of the observation on the simulated device.
    pub digest: u64,
    /// The kernels that it launches.
    pub kernels: BTreeSet<String>,
}

/// All drawn cases, and the possible changes.
#[derive(Debug)]
pub struct Baseline {
    /// The cases, except those that are late twice: they may merely be slow.
    pub cases: Vec<BaselineCase>,
    /// The changes of every kernel that is launched.
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
            let trace = Trace::new()?;
            let executor = Executor::start_with(&plan.devices, Build::Checked, plan.limits, &[trace.variable()])?;
            anyhow::Ok((executor, trace, Changes::new()))
        };
        let cases = pool::each(
            plan.jobs,
            numbers(plan.ops.len() * plan.cases, stop),
            start,
            |(executor, trace, changes), index| {
                let Sample { op, drawn, .. } = Sample::nth(&plan.ops, &Mode::ALL, plan.seed, index);
                on_case(op.name);
                let case = drawn.case;
                let mut examined = examine(executor, op, &case, Patience::Short)?;
                if examined.is_late() {
                    examined = examine(executor, op, &case, Patience::Short)?;
                }
                let kernels = trace.launched(changes)?.kernels;
                Ok((!examined.is_late()).then(|| baseline_case(op, case, examined, kernels)))
            },
            |(executor, _, changes)| {
                let coverage = executor.finish()?;
                let mut total = lock();
                total.0.extend(changes);
                total.1.merge(&coverage);
                Ok(())
            },
        )?;
        let (changes, coverage) = std::mem::take(&mut *lock());
        Ok(Self { cases, changes, coverage })
    }

    /// Up to `count` cases that launch `kernel`, spread over the ops, the simplest first.
    pub fn cases_of(&self, kernel: &str, count: usize) -> Vec<&BaselineCase> {
        // Cases were drawn from the ops in turn, so the first ones are spread over all ops.
        let launching = self.cases.iter().filter(|baseline_case| baseline_case.kernels.contains(kernel));
        let mut cases: Vec<&BaselineCase> = launching.take(count).collect();
        cases.sort_by_cached_key(|baseline_case| (baseline_case.ends_worker, baseline_case.case.complexity()));
        cases
    }
}

fn baseline_case(op: &'static Op, case: Case, examined: Examined, kernels: BTreeSet<String>) -> BaselineCase {
    let ends_worker = examined.observations.iter().any(|seen| seen.outcome.lost_the_process());
    let digest = digest(&examined.observations);
    let failure = examined.violation().map(|violation| (violation.signature(op.name), violation.device));
    BaselineCase { op, case, failure, ends_worker, digest, kernels }
}

/// A hash of the observations on simulated devices: different bits give a different number.
pub fn digest(observations: &[Observation]) -> u64 {
    let mut hasher = SipHasher13::new();
    for mut seen in observations.iter().filter(|seen| matches!(seen.device, Device::Sim(_))).cloned() {
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
