//! The dtypes that an op supports on each device: data shared by contracts, generators and `snuffer ops --matrix`.

use super::DType;
use crate::device::Device;

/// The dtypes that candle 0.11.1 lists for an op. For any other dtype an `Err` is allowed, but an `Ok` must be right.
#[derive(Debug)]
pub struct Support {
    /// The input whose dtype counts, or the text param that names it.
    pub of: &'static str,
    /// On candle's CPU backend.
    pub cpu: &'static [DType],
    /// On candle's CUDA backend, real or simulated: those that have a kernel.
    pub cuda: &'static [DType],
}

impl Support {
    /// The same `dtypes` of the input `of` on both backends.
    pub const fn both(of: &'static str, dtypes: &'static [DType]) -> Self {
        Self { of, cpu: dtypes, cuda: dtypes }
    }

    /// The dtypes on this device.
    pub fn on(&self, device: Device) -> &'static [DType] {
        match device {
            Device::Cpu => self.cpu,
            Device::Cuda(_) | Device::Sim(_) => self.cuda,
        }
    }
}
