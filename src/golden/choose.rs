//! Chooses the cases to record: of each kernel that drawn cases launch, one with contiguous inputs and one with a view.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::case::{Case, Complexity};
use crate::device::Device;
use crate::exec::{Answer, WorkerSpec, pool};
use crate::fidelity::Simulated;
use crate::generate::Mode;
use crate::hunt::Sample;
use crate::ops::{Contract, Op, why};
use crate::outcome::{Outcome, Returned};
use crate::score::Launched;

/// The most output elements, and the most input values that are written out, of a case that is chosen if there is another.
const LARGE: (usize, usize) = (16, 64);

/// How well a case shows what a kernel does, the best first: of those that are not large, the one with the most output elements,
/// and then the simplest.
type Merit = (bool, Reverse<usize>, Complexity);

/// The best case so far of each kernel: one with contiguous inputs, and one with a view.
type Best = BTreeMap<(String, bool), (Merit, Case, BTreeSet<String>)>;

fn merit(case: &Case, returned: &Returned) -> Merit {
    let elements = returned.outputs.iter().map(|tensor| tensor.elements().unwrap_or(0)).sum();
    let spelled: usize = case.inputs.values().map(|tensor| tensor.values.spelled()).sum();
    (elements > LARGE.0 || spelled > LARGE.1, Reverse(elements), case.complexity())
}

/// The cases that were chosen, with the kernels of each.
#[derive(Debug, Default)]
pub struct Chosen {
    /// The cases and what they launch.
    pub cases: Vec<(Case, BTreeSet<String>)>,
    /// How many kernels they launch together.
    pub kernels: usize,
}

impl Chosen {
    /// Draws `count` cases of `ops` on a simulated device and chooses among those that return the same twice.
    pub fn draw(
        device: Device,
        ops: &[&'static Op],
        (seed, count): (u64, u64),
        jobs: usize,
        spec: &WorkerSpec,
        stop: &AtomicBool,
        on_case: &(dyn Fn(&str) + Sync),
    ) -> anyhow::Result<Self> {
        let best: Mutex<Best> = Mutex::default();
        let next = AtomicU64::new(0);
        let start = || Simulated::start(device, spec);
        let claim = || {
            let index = next.fetch_add(1, Ordering::Relaxed);
            (index < count && !stop.load(Ordering::Relaxed)).then_some(index)
        };
        let one = |simulated: &mut Simulated, index| {
            let Sample { op, drawn, .. } = Sample::nth(ops, &[Mode::Valid], seed, index);
            on_case(op.name);
            if op.contract(&drawn.case) == Contract::Unspecified(why::TOO_LARGE) {
                return Ok(None::<()>);
            }
            let (Answer { outcome, again, device_reports, .. }, Launched { kernels, libraries }) =
                simulated.run(&drawn.case)?;
            let sound = again.is_none() && device_reports.reports.is_empty();
            // Libraries are not kernels of candle, and random numbers are not the simulated device's to know.
            if let Outcome::Returned(returned) = outcome
                && sound
                && libraries.is_empty()
            {
                let merit = merit(&drawn.case, &returned);
                let mut best = best.lock().unwrap_or_else(PoisonError::into_inner);
                for kernel in &kernels {
                    let key = (kernel.clone(), drawn.case.is_contiguous());
                    if best.get(&key).is_none_or(|(known, ..)| merit < *known) {
                        best.insert(key, (merit.clone(), drawn.case.clone(), kernels.clone()));
                    }
                }
            }
            Ok(None)
        };
        pool::each(jobs, claim, start, one, |_| Ok(()))?;
        let best = best.into_inner().unwrap_or_else(PoisonError::into_inner);
        let kernels = best.keys().map(|(kernel, _)| kernel).collect::<BTreeSet<_>>().len();
        let mut cases: Vec<_> = best.into_values().map(|(_, case, kernels)| (case, kernels)).collect();
        cases.sort_by_cached_key(|(case, _)| (case.op.clone(), case.complexity()));
        cases.dedup();
        Ok(Self { cases, kernels })
    }
}
