//! What drawn cases do without a change, and which kernels they launch.

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

/// A case as it is without a change.
#[derive(Debug)]
pub struct Healthy {
    /// Its op.
    pub op: &'static Op,
    /// The case.
    pub case: Case,
    /// How it fails, and on which device, if it does.
    pub failure: Option<(Signature, Device)>,
    /// Whether a worker is lost by it.
    pub costs_a_worker: bool,
    /// What the simulated device did with it, in short.
    pub digest: u64,
    /// The kernels that it launches.
    pub kernels: BTreeSet<String>,
}

/// All drawn cases, and what can be changed.
#[derive(Debug)]
pub struct Baseline {
    /// The cases, but for those that are late twice: such a one may be slow only, and nothing can be said of it.
    pub cases: Vec<Healthy>,
    /// The changes of every kernel that is launched.
    pub changes: Changes,
    /// What was executed.
    pub coverage: Coverage,
}

impl Baseline {
    /// Draws cases of every op in turn, as a hunt does, and runs them. `told` hears of each.
    pub fn observe(plan: &Plan, stop: &AtomicBool, told: &(dyn Fn(&str) + Sync)) -> anyhow::Result<Self> {
        let whole = Mutex::new((Changes::new(), Coverage::default()));
        let lock = || whole.lock().unwrap_or_else(PoisonError::into_inner);
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
                told(op.name);
                let case = drawn.case;
                let mut examined = examine(executor, op, &case, Patience::Short)?;
                if examined.is_late() {
                    examined = examine(executor, op, &case, Patience::Short)?;
                }
                let kernels = trace.launched(changes)?;
                Ok((!examined.is_late()).then(|| healthy(op, case, examined, kernels)))
            },
            |(executor, _, changes)| {
                let coverage = executor.finish()?;
                let mut whole = lock();
                whole.0.extend(changes);
                whole.1.merge(&coverage);
                Ok(())
            },
        )?;
        let (changes, coverage) = std::mem::take(&mut *lock());
        Ok(Self { cases, changes, coverage })
    }

    /// Up to `count` cases that launch `kernel`, of the ops that have some in turn, the simplest first.
    pub fn cases_of(&self, kernel: &str, count: usize) -> Vec<&Healthy> {
        // Cases were drawn of one op after the other, so that every op has its share of any beginning.
        let launching = self.cases.iter().filter(|healthy| healthy.kernels.contains(kernel));
        let mut cases: Vec<&Healthy> = launching.take(count).collect();
        cases.sort_by_cached_key(|healthy| (healthy.costs_a_worker, healthy.case.complexity()));
        cases
    }
}

fn healthy(op: &'static Op, case: Case, examined: Examined, kernels: BTreeSet<String>) -> Healthy {
    let costs_a_worker = examined.observations.iter().any(|seen| seen.outcome.lost_the_process());
    let digest = digest(&examined.observations);
    let failure = examined.violation().map(|violation| (violation.signature(op.name), violation.device));
    Healthy { op, case, failure, costs_a_worker, digest, kernels }
}

/// What simulated devices did, in short: another number for other bits.
pub fn digest(observations: &[Observation]) -> u64 {
    let mut hasher = SipHasher13::new();
    for mut seen in observations.iter().filter(|seen| matches!(seen.device, Device::Sim(_))).cloned() {
        let outcomes = [Some(&mut seen.outcome), seen.again.as_mut(), seen.contiguous.as_mut()];
        for outcome in outcomes.into_iter().flatten() {
            if let Outcome::Faulted(fault) = outcome {
                // It tells addresses, which depend on what the worker ran before.
                fault.message.clear();
            }
        }
        hasher.write(&rmp_serde::to_vec(&seen).expect("plain data"));
    }
    hasher.finish()
}
