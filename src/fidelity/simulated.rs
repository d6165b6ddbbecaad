//! The simulated side of a comparison: which kernels a case launches, and which other results the documents allow.

use std::collections::BTreeSet;

use anyhow::Context;

use super::latitude::Latitude;
use crate::case::Case;
use crate::device::{Device, Hardware};
use crate::exec::environment::JITTER;
use crate::exec::{Answer, Deadline, Worker, WorkerSpec};
use crate::outcome::Outcome;
use crate::score::{Changes, Launched, Trace};

/// The variable with the number of multiprocessors of a simulated device.
const MULTIPROCESSORS: &str = "SNUFFER_SIM_SMS";

/// `spec` of a simulated device that is compared with `hardware`: it has as many multiprocessors, as kernels split sums by their
/// number, unless a variable says otherwise.
pub fn as_large_as(hardware: Option<&Hardware>, spec: &WorkerSpec) -> WorkerSpec {
    let count = hardware.and_then(|hardware| hardware.multiprocessors);
    let count = count.filter(|_| spec.variables.iter().all(|(name, _)| *name != MULTIPROCESSORS));
    spec.with(count.map(|count| (MULTIPROCESSORS, count.to_string().into())))
}

/// A worker on a simulated device, and its trace.
#[derive(Debug)]
pub struct Simulated {
    worker: Worker,
    trace: Trace,
    /// Runs cases with another seed of the jitter for each launch; `None` until that is needed.
    sampler: Option<Worker>,
    device: Device,
    spec: WorkerSpec,
}

impl Simulated {
    /// Starts the worker.
    pub fn start(device: Device, spec: &WorkerSpec) -> anyhow::Result<Self> {
        let trace = Trace::new()?;
        let worker = Worker::start(device, &spec.with([trace.variable()]))?;
        Ok(Self { worker, trace, sampler: None, device, spec: spec.clone() })
    }

    /// The worker.
    pub fn worker(&self) -> &Worker {
        &self.worker
    }

    /// The next run is in a new process.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        self.worker.renew()
    }

    /// Runs `case`. Returns what it launched, too.
    pub fn run(&mut self, case: &Case) -> anyhow::Result<(Answer, Launched)> {
        let answer = within(&mut self.worker, case)?;
        Ok((answer, self.trace.launched(&mut Changes::new())?))
    }

    /// The forms of the kernels that were launched.
    pub fn forms(&self, launched: &Launched) -> BTreeSet<String> {
        let forms = launched.kernels.iter().filter_map(|kernel| self.trace.forms.get(kernel));
        forms.flatten().cloned().collect()
    }

    /// The forms and library functions among what was launched that leave something open.
    pub fn latitudes(&self, launched: &Launched) -> BTreeSet<String> {
        let mut names = self.forms(launched);
        names.extend(launched.libraries.iter().cloned());
        names.retain(|name| Latitude::of(name).is_some());
        names
    }

    /// Begins samples of a case in a new process, so that they depend on the case alone.
    pub fn begin_samples(&mut self) -> anyhow::Result<()> {
        if let Some(sampler) = &mut self.sampler {
            return sampler.renew();
        }
        self.sampler = Some(Worker::start(self.device, &self.spec.with([(JITTER, "1..".into())]))?);
        Ok(())
    }

    /// What the device may also do with `case` by what the documents leave open: two outcomes, with another seed for each launch.
    pub fn sample(&mut self, case: &Case) -> anyhow::Result<Vec<Outcome>> {
        let sampler = self.sampler.as_mut().context("no samples were begun")?;
        let Answer { outcome, again, .. } = within(sampler, case)?;
        Ok(std::iter::once(outcome).chain(again).collect())
    }
}

/// Runs `case` within the short deadline; if that is not enough, within the full one.
pub(super) fn within(worker: &mut Worker, case: &Case) -> anyhow::Result<Answer> {
    worker.set_deadline(Deadline::Short);
    let answer = worker.run(case)?;
    if !matches!(answer.outcome, Outcome::TimedOut(_)) {
        return Ok(answer);
    }
    worker.set_deadline(Deadline::Full);
    worker.run(case)
}
