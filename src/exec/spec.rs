//! What to start a worker with: its build of candle, what its device loads and how it behaves, and how much a case may use.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use super::{CandleUnderTest, EditedKernels, OwnWorker, Sanitizer};
use crate::case::Case;

/// Which build of candle a worker has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Build {
    /// Optimized, with debug assertions and overflow checks. Hunts use this build.
    #[default]
    Checked,
    /// A release build as users ship it: overflow wraps silently. Findings also run on this build.
    Unchecked,
    /// With checks, and with every mutant of candle's host code, each behind a switch.
    Mutated,
}

/// An environment variable of a worker, and its value.
pub type Variable = (&'static str, OsString);

/// The specification of a worker. Each device of a run has a worker with the same one.
#[derive(Debug, Clone)]
pub struct WorkerSpec {
    /// The build of candle.
    pub build: Build,
    /// This program itself, if it defines the ops.
    pub own: Option<OwnWorker>,
    /// The candle, if it is not the one that this program is linked with.
    pub candle: Option<Arc<CandleUnderTest>>,
    /// The kernels that a simulated device loads in place of candle's own.
    pub kernels: Option<Arc<EditedKernels>>,
    /// How much a case may use.
    pub limits: Limits,
    /// How a CUDA device behaves.
    pub behaviour: DeviceBehaviour,
    /// Judges nothing but costs: cases run without their contiguous copies and siblings, and without checkers.
    pub only_costs: bool,
    /// Environment variables.
    pub variables: Vec<Variable>,
}

impl Default for WorkerSpec {
    /// The candle that this program is linked with. A program that brings ops of its own is its own worker.
    fn default() -> Self {
        Self {
            build: Build::default(),
            own: OwnWorker::of_this_program(),
            candle: None,
            kernels: None,
            limits: Limits::default(),
            behaviour: DeviceBehaviour::default(),
            only_costs: false,
            variables: Vec::new(),
        }
    }
}

impl WorkerSpec {
    /// The same with more environment variables.
    #[must_use]
    pub fn with(&self, variables: impl IntoIterator<Item = Variable>) -> Self {
        let mut spec = self.clone();
        spec.variables.extend(variables);
        spec
    }

    /// The same with candle's own kernels.
    #[must_use]
    pub fn with_original_kernels(&self) -> Self {
        Self { kernels: None, ..self.clone() }
    }

    /// The kernels that a simulated device loads in place of those in the worker: edited ones, or those of another candle.
    pub(super) fn replaced_kernels(&self) -> Option<&EditedKernels> {
        self.kernels.as_deref().or_else(|| self.candle.as_ref()?.kernels.as_deref())
    }

    /// The candle, and an op or a dtype of `case` that it lacks.
    pub fn lacks<'a>(&self, case: &'a Case) -> Option<(&CandleUnderTest, &'a str)> {
        let candle = self.candle.as_deref()?;
        Some((candle, candle.lacks(case)?))
    }
}

impl From<Limits> for WorkerSpec {
    fn from(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }
}

/// How much a case may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Time for one small case, as [`deadline`](super::deadline) counts it. A larger one has more.
    pub deadline: Duration,
    /// Time in which a new worker must open its device, and on a GPU run a kernel.
    pub opening: Duration,
    /// Memory, in MiB: addresses, on GPUs what a case adds to the process's private memory.
    pub memory_mib: u64,
    /// Memory that must be free on a GPU for a worker, in MiB.
    pub gpu_memory_mib: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(10),
            opening: Duration::from_secs(60),
            memory_mib: 4096,
            gpu_memory_mib: 768,
        }
    }
}

/// How CUDA devices behave, real or simulated.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeviceBehaviour {
    /// Whether the failing call itself returns the error, instead of a later call that waits for the device.
    pub immediate_errors: bool,
    /// The seed for what the ISA leaves open on simulated devices. Without a seed they do what hardware usually does.
    pub jitter: Option<u64>,
    /// The tool of `compute-sanitizer` under which the workers of GPUs run.
    pub sanitizer: Option<Sanitizer>,
    /// Whether simulated devices ignore `SNUFFER_SIM_FAIL` and `SNUFFER_SIM_CHECKS`: no injected failures, all checkers on.
    pub ignore_overrides: bool,
}
