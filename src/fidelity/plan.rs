//! What is compared: the devices, and the cases.

use std::path::PathBuf;
use std::time::Duration;

use crate::case::Case;
use crate::device::Device;
use crate::exec::{Variable, WorkerSpec};
use crate::generate::Mode;
use crate::hunt::Sample;
use crate::ops::{Contract, Op, find, why};

/// The plan of a comparison.
#[derive(Debug, Clone)]
pub struct Plan {
    /// A simulated device, and the device that it is compared with.
    pub devices: [Device; 2],
    /// Environment variables of the worker of one device, which the other does not get.
    pub variables: Vec<(Device, Variable)>,
    /// The ops whose cases are drawn, in turn.
    pub ops: Vec<&'static Op>,
    /// Cases to run instead of drawn ones.
    pub given: Vec<Case>,
    /// Decides every drawn case.
    pub seed: u64,
    /// The first case's index.
    pub first: u64,
    /// How many cases to run.
    pub cases: u64,
    /// At most this long. A minimization in progress is finished first.
    pub time: Option<Duration>,
    /// How many threads run cases, each with its own workers.
    pub jobs: usize,
    /// The workers.
    pub spec: WorkerSpec,
    /// How long the minimizer may take for one disagreement.
    pub minimize: Duration,
    /// The folder for disagreements.
    pub into: PathBuf,
}

/// A case of a plan.
#[derive(Debug)]
pub struct Item {
    /// Its op.
    pub op: &'static Op,
    /// The case.
    pub case: Case,
    /// Its index.
    pub index: u64,
}

impl Plan {
    /// What the worker for `device` is started with.
    pub fn spec_of(&self, device: Device) -> WorkerSpec {
        let own = self.variables.iter().filter(|(of, _)| *of == device);
        self.spec.with(own.map(|(_, variable)| variable.clone()))
    }

    /// Whether there is a case at `index`.
    pub fn has(&self, index: u64) -> bool {
        index < if self.given.is_empty() { self.first.saturating_add(self.cases) } else { self.given.len() as u64 }
    }

    /// The case at `index`.
    pub fn item(&self, index: u64) -> Item {
        if let Some(case) = self.given.get(index as usize) {
            let op = find(&case.op).expect("the op of each given case was looked up");
            return Item { op, case: case.clone(), index };
        }
        let Sample { op, drawn, .. } = Sample::nth(&self.ops, &Mode::ALL, self.seed, index);
        Item { op, case: drawn.case, index }
    }
}

impl Item {
    /// Whether the case takes less than seconds. Hunts leave such cases out, too.
    pub fn is_worth_running(&self) -> bool {
        self.op.contract(&self.case) != Contract::Unspecified(why::TOO_LARGE)
    }
}
