//! What drawn cases do without a change, and which kernels they launch.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use super::trace::{Changes, Trace};
use super::{Plan, each, late};
use crate::case::Case;
use crate::coverage::Coverage;
use crate::device::Device;
use crate::exec::{Build, Executor};
use crate::generate::Mode;
use crate::ops::Op;
use crate::oracle::{Evidence, Observation, Signature, Verdict, judge};
use crate::outcome::Outcome;
use crate::sample;

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
        let cases = each(
            plan.jobs,
            plan.ops.len() * plan.cases,
            stop,
            start,
            |(executor, trace, changes), index| {
                let sample = sample::nth(&plan.ops, &Mode::ALL, plan.seed, index as u64);
                told(sample.op.name);
                let case = sample.drawn.case;
                let mut observations = executor.hurried(|executor| executor.observe(&case))?;
                if late(&observations) {
                    observations = executor.hurried(|executor| executor.observe(&case))?;
                }
                let kernels = trace.launched(changes)?;
                Ok((!late(&observations)).then(|| healthy(sample.op, case, &observations, kernels)))
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

fn healthy(op: &'static Op, case: Case, observations: &[Observation], kernels: BTreeSet<String>) -> Healthy {
    let failure = match judge(&Evidence::new(op, &case, observations)) {
        Verdict::Fail(violation) => Some((violation.signature(op.name), violation.device)),
        Verdict::Pass | Verdict::Skip(_) => None,
    };
    let costs_a_worker = observations.iter().any(|seen| seen.outcome.lost_the_process());
    Healthy { op, case, failure, costs_a_worker, digest: digest(observations), kernels }
}

/// What simulated devices did, in short: another number for other bits.
pub fn digest(observations: &[Observation]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for mut seen in observations.iter().filter(|seen| matches!(seen.device, Device::Sim(_))).cloned() {
        let outcomes = [Some(&mut seen.outcome), seen.again.as_mut(), seen.contiguous.as_mut()];
        for outcome in outcomes.into_iter().flatten() {
            if let Outcome::Faulted(fault) = outcome {
                // It tells addresses, which depend on what the worker ran before.
                fault.message.clear();
            }
        }
        rmp_serde::to_vec(&seen).expect("plain data").hash(&mut hasher);
    }
    hasher.finish()
}
