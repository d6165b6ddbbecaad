//! Launches the kernels that plant the canary's faults on a CUDA device, and the marks for `compute-sanitizer`.

use candle_core::cuda_backend::WrapErr;
use candle_core::cuda_backend::cudarc::driver::{LaunchConfig, PushKernelArg};
use candle_core::{Device, Error, Result, Tensor};

const FAULTS: &str = include_str!("faults.ptx");
const MARKS: &str = include_str!("marks.ptx");

/// Launches the kernel of this name on the device of `x`.
#[allow(unsafe_code, reason = "a launch is unsafe: the kernel must fail")]
pub fn launch(kernel: &str, x: &Tensor) -> Result<()> {
    let Device::Cuda(device) = x.device() else {
        return Err(Error::Msg(format!("`{kernel}` can be planted on a CUDA device only")));
    };
    let (module, kernels) = if kernel.starts_with("mark_") { ("marks", MARKS) } else { ("canary", FAULTS) };
    let function = device.get_or_load_custom_func(kernel, &format!("snuffer {module}"), kernels)?;
    // SAFETY: any bytes are good. One of the kernels must read what was never written.
    let memory = unsafe { device.alloc::<u8>(16) }?;
    let mut builder = function.builder();
    builder.arg(&memory);
    // A race takes two threads.
    let two = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (2, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the one parameter is a device pointer, as the kernels declare.
    unsafe { builder.launch(two) }.w()?;
    Ok(())
}
