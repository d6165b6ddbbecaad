//! The devices on which a case runs if none are named.

use super::Build;
use super::environment::{command, has_gpu};
use crate::device::Device;
use crate::ops::own;

/// `cpu`, and the GPU or else the simulated device, if the worker for it is built. A program that brings ops has [its own](own_devices).
pub fn default_devices() -> Vec<Device> {
    if own::brought().is_some() {
        return own_devices();
    }
    let other = if has_gpu() { Device::Cuda(0) } else { Device::Sim(0) };
    let ready = command(other, Build::Checked).is_ok();
    std::iter::once(Device::Cpu).chain(ready.then_some(other)).collect()
}

/// The devices on which this program runs ops that it defines: the CPU, and the one that candle's CUDA backend finds, if the program has
/// that backend.
pub fn own_devices() -> Vec<Device> {
    let cuda = if !cfg!(feature = "cuda") {
        None
    } else if is_watched() {
        Some(Device::Sim(0))
    } else {
        has_gpu().then_some(Device::Cuda(0))
    };
    std::iter::once(Device::Cpu).chain(cuda).collect()
}

/// True if `cargo snuffer` runs this program, on the simulated device.
pub fn is_watched() -> bool {
    std::env::var_os("SNUFFER_SESSION").is_some()
}
