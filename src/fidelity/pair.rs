//! The two workers of a comparison.

use super::Plan;
use super::simulated::{Simulated, as_large_as, within};
use crate::case::Case;
use crate::exec::{Answer, Worker};
use crate::score::Launched;

/// A worker on each device.
#[derive(Debug)]
pub struct Pair {
    /// On the simulated device.
    pub simulated: Simulated,
    other: Worker,
}

/// What both devices did with a case.
#[derive(Debug)]
pub struct Both {
    /// On the simulated device.
    pub simulated: Answer,
    /// On the other device.
    pub other: Answer,
    /// What the simulated device launched.
    pub launched: Launched,
}

impl Pair {
    /// Starts both workers.
    pub fn start(plan: &Plan) -> anyhow::Result<Self> {
        let [simulated, other] = plan.devices;
        let other = Worker::start(other, &plan.spec_of(other))?;
        let spec = as_large_as(other.hello().hardware.as_ref(), &plan.spec_of(simulated));
        Ok(Self { simulated: Simulated::start(simulated, &spec)?, other })
    }

    /// The workers.
    pub fn workers(&self) -> [&Worker; 2] {
        [self.simulated.worker(), &self.other]
    }

    /// Runs `case` on both devices, each within the short deadline, or else the full one.
    pub fn run(&mut self, case: &Case) -> anyhow::Result<Both> {
        self.run_two(case, case)
    }

    /// Runs one case on the simulated device and one on the other.
    pub(super) fn run_two(&mut self, on_simulated: &Case, on_other: &Case) -> anyhow::Result<Both> {
        let (simulated, launched) = self.simulated.run(on_simulated)?;
        Ok(Both { simulated, other: within(&mut self.other, on_other)?, launched })
    }

    /// The next runs are in new processes.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        self.simulated.restart()?;
        self.other.renew()
    }
}
