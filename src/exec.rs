//! Executes cases in worker processes, which may die, and reports the outcome of each.

mod answer;
mod candle_under_test;
mod captured;
mod cause_of_death;
mod cost;
pub mod deadline;
mod default_devices;
pub mod diagnosis;
mod edited_kernels;
pub mod environment;
pub mod fence;
mod folder;
mod gpu;
pub mod gpu_count;
mod journal;
mod kernel_warm_up;
mod machine_memory;
mod named_path;
mod own_program;
mod own_runs;
mod own_worker;
pub mod pool;
mod process;
pub mod protocol;
pub mod reproduction;
pub mod sanitizer;
mod slopes;
mod spec;
mod stack;
mod start;
pub mod toolkit;
pub mod unusable_device;
pub mod watched;
pub mod worker;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::case::Case;
use crate::coverage::Coverage;
use crate::device::{Device, Hardware};
use crate::ops;
use crate::outcome::{Observation, Outcome};

pub use answer::Answer;
pub use candle_under_test::{CUDNN, CandleUnderTest, FIXES, fixes, from_here};
pub use cost::Cost;
pub use default_devices::{default_devices, is_watched, own_devices};
pub use edited_kernels::EditedKernels;
pub use named_path::Missing;
pub use own_program::OwnWorker;
pub use own_worker::serve_if_asked;
pub use process::Worker;
pub use protocol::Hello;
pub use reproduction::Ran;
pub use sanitizer::Sanitizer;
pub use spec::{Build, DeviceBehaviour, Limits, Variable, WorkerSpec};
pub use stack::on_own_stack;
pub use start::DeviceLost;
pub use unusable_device::UnusableDevice;

/// How much of [`Limits::deadline`] a case may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadline {
    /// A fiftieth: an ordinary case takes milliseconds, and a hang costs less this way. A fifth on GPUs, whose driver loads
    /// each of candle's modules when a process first uses it.
    Short,
    /// All of it.
    Full,
}

impl Deadline {
    /// The time for a case on `device`, where the full deadline is `whole`.
    fn of(self, whole: Duration, device: Device) -> Duration {
        match self {
            Self::Short if device.is_gpu() => whole / 5,
            Self::Short => whole / 50,
            Self::Full => whole,
        }
    }
}

/// One worker per device. Workers are reused across cases and replaced when they die.
#[derive(Debug)]
pub struct Executor {
    spec: WorkerSpec,
    workers: Vec<Worker>,
}

impl Executor {
    /// Starts a worker for each device.
    pub fn start(devices: &[Device], spec: &WorkerSpec) -> anyhow::Result<Self> {
        let workers = devices.iter().map(|&device| Worker::start(device, spec)).collect::<anyhow::Result<_>>()?;
        Ok(Self { spec: spec.clone(), workers })
    }

    /// What the workers were started with.
    pub fn spec(&self) -> &WorkerSpec {
        &self.spec
    }

    /// The devices that the workers serve.
    pub fn devices(&self) -> Vec<Device> {
        self.workers.iter().map(Worker::device).collect()
    }

    /// The first message of each worker.
    pub fn hellos(&self) -> impl Iterator<Item = &Hello> {
        self.workers.iter().map(Worker::hello)
    }

    /// The hardware of each CUDA device.
    pub fn hardware(&self) -> BTreeMap<Device, Hardware> {
        let known = |hello: &Hello| Some((hello.device, hello.hardware.clone()?));
        self.hellos().filter_map(known).collect()
    }

    /// Runs `case` twice on every device, and once more contiguous if it has views. If the result is open, also runs its sibling, and
    /// beside an op that a program defines what the definition promises. Under the short deadline, a late device ends the observation:
    /// later devices do not run the case.
    pub fn observe(&mut self, case: &Case, deadline: Deadline) -> anyhow::Result<Vec<Observation>> {
        let baseline = (!case.is_plain() && !self.spec.only_costs).then(|| case.contiguous());
        let mut observations = Vec::with_capacity(self.workers.len());
        for worker in &mut self.workers {
            worker.set_deadline(deadline);
            let answer = worker.run(case)?;
            let late = matches!(answer.outcome, Outcome::TimedOut(_));
            let contiguous = match &baseline {
                // No contiguous baseline for a case that hangs or dies: it would cost another worker.
                Some(baseline) if !answer.outcome.lost_the_process() => Some(worker.run_once(baseline)?),
                _ => None,
            };
            let sibling = match ops::beside(case, &answer.outcome) {
                Some(sibling) if !self.spec.only_costs => Some(worker.run_once(&sibling)?),
                _ => None,
            };
            let mut seen = Observation { contiguous, sibling, ..answer.on(worker.device()) };
            if !self.spec.only_costs {
                own_runs::add(worker, case, &mut seen)?;
            }
            observations.push(seen);
            if late && deadline == Deadline::Short {
                break;
            }
        }
        let asks = observations.iter().any(|seen| seen.outcome.has_gradients());
        if let (true, Some(op)) = (asks && ops::own::keeps(case), ops::own::find(&case.op)) {
            observations[0].slopes = slopes::slopes(&mut self.workers[0], op, case)?;
        }
        Ok(observations)
    }

    /// What each worker has cost so far.
    pub fn costs(&self) -> Vec<Option<Cost>> {
        self.workers.iter().map(|worker| Cost::of(worker.process())).collect()
    }

    /// Observes `case` in new workers, so that nothing that happened before can affect it.
    pub fn observe_in_new_workers(&mut self, case: &Case) -> anyhow::Result<Vec<Observation>> {
        for worker in &mut self.workers {
            worker.renew()?;
        }
        self.observe(case, Deadline::Full)
    }

    /// Shuts the workers down and returns what simulated devices executed.
    pub fn finish(self) -> anyhow::Result<Coverage> {
        let mut all = Coverage::default();
        for worker in self.workers {
            all.merge(&worker.finish()?);
        }
        Ok(all)
    }

    /// The outcome of `case` on the first device.
    pub fn run(&mut self, case: &Case) -> anyhow::Result<Outcome> {
        self.workers[0].set_deadline(Deadline::Full);
        Ok(self.workers[0].run(case)?.outcome)
    }
}
