//! Executes cases in worker processes that may die, and says what became of each.

pub mod diagnosis;
pub mod environment;
mod journal;
pub mod pool;
mod process;
pub mod protocol;
pub mod reproduction;
mod start;
pub mod worker;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::case::Case;
use crate::coverage::Coverage;
use crate::device::{Device, Hardware};
use crate::outcome::{Observation, Outcome};

pub use environment::{Build, Variable};
pub use process::{Answer, Worker};
pub use protocol::Hello;
pub use reproduction::Ran;
pub use start::DeviceLost;

/// What a worker may use up before it is stopped, and how its device behaves.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For one case.
    pub deadline: Duration,
    /// Address space, in MiB.
    pub memory_mib: u64,
    /// Whether a CUDA device's error comes from the very call at fault, and not from one that waits later.
    pub immediate: bool,
    /// The seed by which simulated devices decide what the ISA leaves open; without one they do as hardware mostly does.
    pub jitter: Option<u64>,
    /// Whether simulated devices report kernels that reach around a view in its buffer.
    pub exact_views: bool,
    /// Whether simulated devices do without the failures that `SNUFFER_SIM_FAIL` asks for, and with all checkers.
    pub sound: bool,
}

impl Default for Limits {
    fn default() -> Self {
        let deadline = Duration::from_secs(10);
        Self { deadline, memory_mib: 4096, immediate: false, jitter: None, exact_views: false, sound: false }
    }
}

/// How much of [`Limits::deadline`] a case may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadline {
    /// A fiftieth: an ordinary case takes milliseconds, and one that hangs costs less.
    Short,
    /// All of it.
    Full,
}

impl Deadline {
    /// The time that a case has of `whole`.
    fn of(self, whole: Duration) -> Duration {
        match self {
            Self::Short => whole / 50,
            Self::Full => whole,
        }
    }
}

/// One worker per device, kept warm across cases and replaced when it dies.
#[derive(Debug)]
pub struct Executor {
    workers: Vec<Worker>,
}

impl Executor {
    /// Starts a worker for each device.
    pub fn start(devices: &[Device], build: Build, limits: Limits) -> anyhow::Result<Self> {
        Self::start_with(devices, build, limits, &[])
    }

    /// The same with variables in the environment of the workers, for simulated devices to read.
    pub fn start_with(
        devices: &[Device],
        build: Build,
        limits: Limits,
        variables: &[Variable],
    ) -> anyhow::Result<Self> {
        let start = |&device| Worker::start_with(device, build, limits, variables);
        Ok(Self { workers: devices.iter().map(start).collect::<anyhow::Result<_>>()? })
    }

    /// What each worker said of itself.
    pub fn hellos(&self) -> impl Iterator<Item = &Hello> {
        self.workers.iter().map(Worker::hello)
    }

    /// What each CUDA device is.
    pub fn hardware(&self) -> BTreeMap<Device, Hardware> {
        let known = |hello: &Hello| Some((hello.device, hello.hardware.clone()?));
        self.hellos().filter_map(known).collect()
    }

    /// Runs `case` on every device: twice, and once more contiguous where it has views. Under the short deadline, the devices
    /// after one that is late are not asked.
    pub fn observe(&mut self, case: &Case, deadline: Deadline) -> anyhow::Result<Vec<Observation>> {
        let baseline = (!case.is_contiguous()).then(|| case.contiguous());
        let mut observations = Vec::with_capacity(self.workers.len());
        for worker in &mut self.workers {
            worker.set_deadline(deadline);
            let Answer { outcome, again, device_reports } = worker.run(case)?;
            let late = matches!(outcome, Outcome::TimedOut(_));
            let contiguous = match &baseline {
                // A case that hangs or dies has no contiguous baseline, which would cost another worker.
                Some(baseline) if !outcome.lost_the_process() => Some(worker.run(baseline)?.outcome),
                _ => None,
            };
            observations.push(Observation { device: worker.device(), outcome, again, contiguous, device_reports });
            if late && deadline == Deadline::Short {
                break;
            }
        }
        Ok(observations)
    }

    /// Runs `case` once on each device in new workers: nothing that happened before can matter.
    pub fn observe_afresh(&mut self, case: &Case) -> anyhow::Result<Vec<Observation>> {
        for worker in &mut self.workers {
            worker.restart()?;
        }
        self.observe(case, Deadline::Full)
    }

    /// Ends the workers in order, and says what simulated devices executed.
    pub fn finish(self) -> anyhow::Result<Coverage> {
        let mut all = Coverage::default();
        for worker in self.workers {
            all.merge(&worker.finish()?);
        }
        Ok(all)
    }

    /// Runs `case` on the first device only, once, for its outcome.
    pub fn run(&mut self, case: &Case) -> anyhow::Result<Outcome> {
        self.workers[0].set_deadline(Deadline::Full);
        Ok(self.workers[0].run(case)?.outcome)
    }
}
