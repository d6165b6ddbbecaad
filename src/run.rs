//! Runs one case on one candle device in this process. Catches panics; whatever ends the process is for the worker's parent to
//! detect.

pub mod effort;
#[cfg(feature = "cuda")]
pub mod gpu;
mod growth;
#[cfg(feature = "cuda")]
mod hidden;
mod panic_location;
mod refusal;
mod tensors;

use std::collections::BTreeMap;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};

use candle_core::{Result, Tensor, Var};

use crate::case::{Backward, Case, weight};
use crate::device::Hardware;
use crate::ops::{self, Devices, Op, case_dtype, sequence, threads};
use crate::outcome::{Efforts, Fault, Gradients, Outcome, Panic, Phase, Place, Returned, Store};
use crate::tensor::{DType, Tensor as Data};

pub use panic_location::{crate_path, install_panic_hook, last_panic};
pub use refusal::lacks_kernel;
use refusal::{cuda_error, lacks_algorithm, refusal};
pub use tensors::{read, to_candle};

/// Runs `case` on `device` and calls `progress` at the start of every phase. Call [`install_panic_hook`] first.
pub fn run(case: &Case, device: &candle_core::Device, progress: impl FnMut(Phase)) -> Outcome {
    measured(case, device, progress).0
}

/// The same, and what the case made the device do.
pub fn measured(case: &Case, device: &candle_core::Device, progress: impl FnMut(Phase)) -> (Outcome, Efforts) {
    let mut efforts = Efforts::default();
    (counted(case, device, progress, &mut efforts), efforts)
}

fn counted(
    case: &Case,
    device: &candle_core::Device,
    mut progress: impl FnMut(Phase),
    efforts: &mut Efforts,
) -> Outcome {
    // A worker of another candle may lack an op, or one of the steps.
    let missing = iter::once(&case.op).chain(&case.steps).find(|name| ops::find(name).is_none());
    let (Some(op), None) = (ops::find(&case.op), missing) else {
        return Outcome::Unsupported(format!("this build has no op `{}`", missing.unwrap_or(&case.op)));
    };
    let second = ops::wants_second(case).then(|| ops::second(device)).transpose();
    let Ok(second) = second else { return Outcome::Unsupported("there is no second device".to_string()) };
    let mut phase = Phase::Inputs;
    let mut enter = |next| {
        phase = next;
        progress(next);
    };
    let result = catch_unwind(AssertUnwindSafe(|| attempt(op, case, device, &mut enter, efforts)));
    // Device errors are asynchronous: even if candle returned, an error may still be pending.
    for device in iter::once(device).chain(&second) {
        if let Err(error) = device.synchronize() {
            let (kind, message) = cuda_error(&error);
            return Outcome::Faulted(Fault { phase, kind, place: Place::Unknown, message });
        }
    }
    let outcome = match result {
        Ok(Ok(returned)) => Outcome::Returned(returned),
        Ok(Err(error)) => Outcome::Rejected(refusal(&error)),
        Err(_) => {
            let (place, message) = last_panic();
            Outcome::Panicked(Panic { phase, place, message })
        }
    };
    let message = match &outcome {
        Outcome::Rejected(refusal) | Outcome::Returned(Returned { backward: Gradients::Rejected(refusal), .. }) => {
            &refusal.message
        }
        _ => return outcome,
    };
    let kernel = capability(device).and_then(|capability| lacks_kernel(message, case, capability));
    kernel.or_else(|| lacks_algorithm(message, case)).map_or(outcome, Outcome::Unsupported)
}

/// A device that candle has opened.
pub type Opened = candle_core::Device;

/// Opens the candle device of this name.
pub fn open(device: crate::device::Device) -> Result<Opened> {
    match device {
        crate::device::Device::Cpu => Ok(candle_core::Device::Cpu),
        crate::device::Device::Cuda(ordinal) | crate::device::Device::Sim(ordinal) => {
            candle_core::Device::new_cuda(usize::from(ordinal))
        }
    }
}

/// The hardware of the CUDA device that was `opened` as `device`; `None` for the CPU.
#[cfg(feature = "cuda")]
pub fn hardware(device: crate::device::Device, opened: &Opened) -> Result<Option<Hardware>> {
    use candle_core::cuda_backend::cudarc::driver::sys::CUdevice_attribute;
    let candle_core::Device::Cuda(cuda) = opened else { return Ok(None) };
    let stream = cuda.cuda_stream();
    let context = stream.context();
    let name = context.name().map_err(candle_core::Error::wrap)?;
    let (major, minor) = context.compute_capability().map_err(candle_core::Error::wrap)?;
    let count = context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    let multiprocessors = count.ok().and_then(|count| u32::try_from(count).ok());
    Ok(Some(Hardware { name, capability: (major as u32, minor as u32), multiprocessors, driver: driver(device) }))
}

/// The compute capability of a CUDA device.
#[cfg(feature = "cuda")]
fn capability(device: &Opened) -> Option<(u32, u32)> {
    let candle_core::Device::Cuda(cuda) = device else { return None };
    let (major, minor) = cuda.cuda_stream().context().compute_capability().ok()?;
    Some((major as u32, minor as u32))
}

/// The CPU has none.
#[cfg(not(feature = "cuda"))]
fn capability(_: &Opened) -> Option<(u32, u32)> {
    None
}

/// The version of the kernel module for the machine's GPUs.
#[cfg(feature = "cuda")]
fn driver(device: crate::device::Device) -> Option<String> {
    let crate::device::Device::Cuda(_) = device else { return None };
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let is_version = |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    text.split_whitespace().find(is_version).map(ToString::to_string)
}

/// `None` for the CPU, the only device of this build.
#[cfg(not(feature = "cuda"))]
pub fn hardware(_: crate::device::Device, _: &Opened) -> Result<Option<Hardware>> {
    Ok(None)
}

fn attempt(
    op: &Op,
    case: &Case,
    device: &candle_core::Device,
    enter: &mut impl FnMut(Phase),
    efforts: &mut Efforts,
) -> Result<Returned> {
    // Dropped last, after all tensors on them.
    let devices = Devices::open(case, device)?;
    if let Some(repeat) = case.repeat {
        efforts.growth = growth::of(device, repeat, || {
            enter(Phase::Inputs);
            let Inputs { tensors, vars } = inputs(op, case, &devices)?;
            enter(Phase::Forward);
            let outputs = op.call(case, tensors, &devices)?;
            if !vars.is_empty() && outputs.iter().all(|output| output.dtype().is_float()) {
                enter(Phase::Backward);
                // An `Err` comes again when the call is measured.
                drop(gradients(case, &outputs, &vars));
            }
            Ok(())
        })?;
    }
    enter(Phase::Inputs);
    let Inputs { tensors, vars } = inputs(op, case, &devices)?;
    enter(Phase::Forward);
    let (outputs, effort) = effort::of(device, || op.call(case, tensors, &devices));
    efforts.forward = effort;
    let outputs = outputs?;
    let read = outputs.iter().map(tensors::read).collect::<Result<Vec<_>>>()?;
    let tracked = vars.is_empty() && outputs.iter().any(Tensor::track_op);
    if vars.is_empty() || outputs.iter().any(|output| !output.dtype().is_float()) {
        return Ok(Returned { outputs: read, backward: Gradients::NotAsked, tracked });
    }
    // What the forward call has started, and nothing has waited for, must not be charged to the backward pass.
    devices.synchronize()?;
    enter(Phase::Backward);
    let (backward, effort) = effort::of(device, || gradients(case, &outputs, &vars));
    efforts.backward = effort;
    let backward = backward.unwrap_or_else(|error| Gradients::Rejected(refusal(&error)));
    Ok(Returned { outputs: read, backward, tracked })
}

/// The inputs of a call by name.
struct Inputs<'a> {
    tensors: BTreeMap<&'a str, Tensor>,
    /// Those that have a gradient.
    vars: BTreeMap<&'a str, Var>,
}

/// Makes the inputs of `case`, each in the thread of its step and on its device object.
fn inputs<'a>(op: &Op, case: &'a Case, devices: &Devices) -> Result<Inputs<'a>> {
    let mut inputs = Inputs { tensors: BTreeMap::new(), vars: BTreeMap::new() };
    let shared = tensors::shared_buffers(case, devices)?;
    for (name, data) in &case.inputs {
        let device = devices.of(sequence::device_of(case, name));
        let make = || -> Result<(Tensor, Option<Var>)> {
            let buffer = shared.get(name).cloned().map_or_else(|| tensors::buffer(data, device), Ok)?;
            let var = op.has_gradient(case, name).then(|| Var::from_tensor(&buffer)).transpose()?;
            Ok((tensors::view(var.as_ref().map_or(&buffer, Var::as_tensor), data)?, var))
        };
        let (tensor, var) = threads::on(sequence::thread_of(case, name), make)?;
        inputs.vars.extend(var.map(|var| (name.as_str(), var)));
        inputs.tensors.insert(name.as_str(), tensor);
    }
    Ok(inputs)
}

/// Differentiates the sum of all outputs, weighted or not, by every variable. If there is no sum, because the outputs are empty
/// or their dtype has no sum, no gradient is asked for.
fn gradients(case: &Case, outputs: &[Tensor], vars: &BTreeMap<&str, Var>) -> Result<Gradients> {
    let Ok(Some(total)) = total(case.backward, outputs) else { return Ok(Gradients::NotAsked) };
    let grads = total.backward()?;
    let mut store = Store::default();
    let mut first = None;
    for (&name, var) in vars {
        match grads.get(var) {
            Some(grad) => {
                let grad = tensors::stored_elements(grad, &case.inputs[name])?;
                store.gradients.insert(name.to_string(), tensors::read(&grad)?);
                first = first.or(Some(grad));
            }
            None => store.missing.push(name.to_string()),
        }
    }
    if let Some(first) = first.filter(|first| case.backward == Backward::Twice && first.elem_count() > 0) {
        // It is known that candle lacks some second derivatives: no violation.
        store.second = second(case, &first, vars).unwrap_or_default();
    }
    Ok(Gradients::Returned(store))
}

/// The sum of all outputs that have elements. Empty outputs have no gradient.
fn total(backward: Backward, outputs: &[Tensor]) -> Result<Option<Tensor>> {
    let mut total: Option<Tensor> = None;
    for output in outputs.iter().filter(|output| output.elem_count() > 0) {
        let share = match backward {
            Backward::Weighted | Backward::Twice if output.rank() > 0 => weighted_sum(output)?,
            _ => output.sum_all()?,
        };
        total = Some(match total {
            Some(total) => {
                let share = share.to_device(total.device())?;
                // candle's conversion of f8e4m3 to f64 may not end.
                let is_f8 = case_dtype(share.dtype()) == Some(DType::F8e4m3);
                let share = if is_f8 { share.to_dtype(candle_core::DType::F32)? } else { share };
                let share = share.to_dtype(total.dtype())?;
                (total + share)?
            }
            None => share,
        });
    }
    Ok(total)
}

fn weighted_sum(tensor: &Tensor) -> Result<Tensor> {
    let weights: Vec<f64> = (0..tensor.elem_count()).map(weight).collect();
    let weights = Tensor::from_vec(weights, tensor.shape(), tensor.device())?.to_dtype(tensor.dtype())?;
    (tensor * weights)?.sum_all()
}

/// Differentiates the weighted sum of `gradient` by every variable; zeros for variables that it does not depend on.
fn second(case: &Case, gradient: &Tensor, vars: &BTreeMap<&str, Var>) -> Result<BTreeMap<String, Data>> {
    let grads = weighted_sum(gradient)?.backward()?;
    let mut second = BTreeMap::new();
    for (&name, var) in vars {
        let grad = grads.get(var).map_or_else(|| var.zeros_like(), |grad| Ok(grad.clone()))?;
        second.insert(name.to_string(), tensors::read(&tensors::stored_elements(&grad, &case.inputs[name])?)?);
    }
    Ok(second)
}
