//! The outcome of a case on one device, as plain data. Whether it is right, the oracles decide.

mod cuda_error;
mod device_reports;
mod does;
mod effort;
mod place;
mod unchecked;
mod whole;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::device::Device;
use crate::tensor::Tensor;

pub use cuda_error::CudaError;
pub use device_reports::{DeviceReport, DeviceReports};
pub use effort::{Effort, Efforts, Growth, Serial};
pub use place::{Function, Place};

/// The outcome of a case on one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// candle returned `Ok`.
    Returned(Returned),
    /// candle returned `Err` from the forward call.
    Rejected(Refusal),
    /// candle panicked.
    Panicked(Panic),
    /// The device reported an error.
    Faulted(Fault),
    /// The process was killed by a signal.
    Died(Death),
    /// The process overflowed its stack.
    StackOverflow(Phase),
    /// The deadline passed.
    TimedOut(Phase),
    /// The process needed more memory than its limit.
    OutOfMemory(Phase),
    /// The device cannot run this case: a simulated device, or a missing second device. Never a violation, but counted.
    Unsupported(String),
}

/// The results of a forward call and of the backward pass.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Returned {
    /// The outputs, contiguous.
    pub outputs: Vec<Tensor>,
    /// The backward pass.
    #[serde(default)]
    pub backward: Gradients,
    /// Whether an output is tracked for gradients, although no input is a variable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tracked: bool,
}

/// The outcome of the backward pass.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gradients {
    /// No gradient was requested, or no input has one.
    #[default]
    NotAsked,
    /// candle returned a gradient store.
    Returned(Store),
    /// candle returned `Err` from the backward call.
    Rejected(Refusal),
}

/// The content of candle's gradient store for the requested inputs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Store {
    /// The gradients by input.
    #[serde(default)]
    pub gradients: BTreeMap<String, Tensor>,
    /// The gradients of the first input's weighted gradient, if they were requested and candle has them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub second: BTreeMap<String, Tensor>,
    /// The inputs without an entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// An `Err` of candle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The variant of `candle_core::Error`, such as `ShapeMismatchBinaryOp`: signatures use this.
    pub variant: String,
    /// The message, for people.
    pub message: String,
}

impl Refusal {
    /// Whether a CUDA library refused what candle asked of it. candle itself did not refuse the call then, unless it asked for memory
    /// that is not there, or for a kernel that it does not have (`candle-core/src/cuda_backend/error.rs`, `CudaError`).
    pub fn is_of_a_library(&self) -> bool {
        const ERRORS: [&str; 4] = ["DriverError(", "CublasError(", "CurandError(", "NvrtcError("];
        const LACKS: [&str; 5] = ["OUT_OF_MEMORY", "ALLOC_FAILED", "ALLOCATION_FAILED", "NOT_FOUND", " when loading "];
        let has = |part: &&str| self.message.contains(part);
        self.variant == "Cuda" && ERRORS.iter().any(has) && !LACKS.iter().any(has)
    }
}

/// A Rust panic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Panic {
    /// The phase in which it happened.
    pub phase: Phase,
    /// Where.
    pub place: Place,
    /// The message, for people.
    pub message: String,
}

/// A device error: a diagnosis, or a CUDA error without one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The phase in which it happened.
    pub phase: Phase,
    /// The CUDA error.
    pub kind: CudaError,
    /// The source line of the kernel, or the kernel, if the device reports it.
    pub place: Place,
    /// The device's message, for people.
    pub message: String,
}

/// The end of a process by a signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Death {
    /// The phase in which it happened.
    pub phase: Phase,
    /// The signal's number (`signal(7)`).
    pub signal: i32,
    /// The last lines on standard error, for people.
    pub stderr: String,
}

/// The phases of a case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Making the inputs.
    #[default]
    Inputs,
    /// The op's call.
    Forward,
    /// The backward pass.
    Backward,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 3] = [Self::Inputs, Self::Forward, Self::Backward];

    /// The phase's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inputs => "inputs",
            Self::Forward => "forward",
            Self::Backward => "backward",
        }
    }
}

impl Outcome {
    /// The outcome's class in a word or two, for counts.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Returned(_) => "returned",
            Self::Rejected(_) => "rejected",
            Self::Panicked(_) => "panicked",
            Self::Faulted(_) => "faulted",
            Self::Died(_) => "died",
            Self::StackOverflow(_) => "stack overflow",
            Self::TimedOut(_) => "timed out",
            Self::OutOfMemory(_) => "out of memory",
            Self::Unsupported(_) => "unsupported",
        }
    }

    /// Whether the process that ran the case can no longer be used.
    pub fn lost_the_process(&self) -> bool {
        let killed = matches!(self, Self::Died(_) | Self::StackOverflow(_) | Self::TimedOut(_) | Self::OutOfMemory(_));
        killed || matches!(self, Self::Faulted(_))
    }

    /// Whether a backward pass returned.
    pub fn has_gradients(&self) -> bool {
        matches!(self, Self::Returned(Returned { backward: Gradients::Returned(_), .. }))
    }

    /// The outcome in one line, for people.
    pub fn summary(&self) -> String {
        match self {
            Self::Returned(returned) => returned.summary(),
            Self::Rejected(refusal) => format!("Err: {}", first_line(&refusal.message)),
            Self::Panicked(panic) => {
                format!("panic in {} at {}: {}", panic.phase.name(), panic.place, first_line(&panic.message))
            }
            Self::Faulted(fault) => {
                let Fault { phase, kind, place, .. } = fault;
                format!("{kind} in {} at {place}: {}", phase.name(), message_of(fault))
            }
            Self::Died(death) => format!("died in {} of {}", death.phase.name(), signal_name(death.signal)),
            Self::StackOverflow(phase) => format!("stack overflow in {}", phase.name()),
            Self::TimedOut(phase) => format!("no answer in {} within the deadline", phase.name()),
            Self::OutOfMemory(phase) => format!("out of memory in {}", phase.name()),
            Self::Unsupported(what) => format!("unsupported by the device: {what}"),
        }
    }
}

impl Returned {
    fn summary(&self) -> String {
        let outputs: Vec<String> = self.outputs.iter().map(tensor_summary).collect();
        let mut line = format!("Ok: {}", outputs.join(", "));
        match &self.backward {
            Gradients::NotAsked => {}
            Gradients::Returned(store) => {
                for (name, grad) in &store.gradients {
                    line += &format!("; gradient of {name}: {}", tensor_summary(grad));
                }
                for (name, grad) in &store.second {
                    line += &format!("; second derivative by {name}: {}", tensor_summary(grad));
                }
                for name in &store.missing {
                    line += &format!("; no gradient of {name}");
                }
            }
            Gradients::Rejected(refusal) => line += &format!("; backward Err: {}", first_line(&refusal.message)),
        }
        if self.tracked {
            line += "; tracked for gradients";
        }
        line
    }
}

/// A tensor in one line: dtype, shape, and up to eight values.
pub fn tensor_summary(tensor: &Tensor) -> String {
    let values = tensor.expanded();
    let shown: Vec<String> = values.iter().take(8).map(ToString::to_string).collect();
    let more = if values.len() > 8 { ", …" } else { "" };
    format!("{}{:?} [{}{more}]", tensor.dtype, tensor.shape, shown.join(", "))
}

/// The name of a signal that ends processes (`signal(7)`).
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    name.to_string()
}

/// The first line of the device's message, without the place that an assertion's own line begins with.
fn message_of(fault: &Fault) -> &str {
    let message = first_line(&fault.message);
    message.strip_prefix(&format!("{}: ", fault.place)).unwrap_or(message)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The outcomes of a case and of its variants on one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The device.
    pub device: Device,
    /// The outcome.
    pub outcome: Outcome,
    /// The outcome of a second run, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Outcome>,
    /// The outcome with the same values in contiguous tensors, if the case has views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contiguous: Option<Outcome>,
    /// The outcome of the call that candle has for the same, where the contract leaves the result open or the call is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sibling: Option<Outcome>,
    /// The outcomes of samples of the batch, each alone, where an op that a program defines promises that they are independent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Outcome>,
    /// A few steps of training from the inputs of the case, where an op that a program defines is trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Training>,
    /// Slopes of the call in `f64` by input, where an op that a program defines was asked for gradients.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub slopes: BTreeMap<String, Vec<Slope>>,
    /// What the device reported meanwhile; older findings call it `remarks`.
    #[serde(default, alias = "remarks", skip_serializing_if = "DeviceReports::is_empty")]
    pub device_reports: DeviceReports,
    /// What the second run made the device do, if that is worth judging.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efforts: Option<Efforts>,
}

impl Observation {
    /// An observation of `outcome` on `device`, and nothing else.
    pub fn new(device: Device, outcome: Outcome) -> Self {
        Self {
            device,
            outcome,
            again: None,
            contiguous: None,
            sibling: None,
            samples: Vec::new(),
            training: None,
            slopes: BTreeMap::new(),
            device_reports: DeviceReports::default(),
            efforts: None,
        }
    }
}

/// Some steps of gradient descent from the inputs of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// The outcome: the losses, the gradients that were there, and the parameters, each by step.
    pub outcome: Outcome,
    /// The outcome of a second run, if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Outcome>,
}

/// How much the (weighted) sum of all outputs changes with one stored element of an input, by finite differences.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Slope {
    /// The element's place among those that are stored.
    pub element: usize,
    /// The change per unit.
    pub value: f64,
    /// How far off it may be.
    pub error: f64,
}
