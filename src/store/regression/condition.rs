//! Where a regression is expected to fail: on which device, with which candle, at which compute capability.

use std::collections::BTreeSet;

use semver::VersionReq;
use serde::{Deserialize, Serialize};

use crate::device::Device;
use crate::oracle::OracleName;
use crate::store::Platform;

/// A condition. A field that is missing matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Where candle runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Backend>,
    /// Releases of candle, such as `>=0.9.2, <0.11`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candle: Option<VersionReq>,
    /// Compute capabilities, such as `>=8.9`; the CPU has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<VersionReq>,
}

/// A kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// candle's CPU backend.
    Cpu,
    /// candle's CUDA backend, on a GPU or simulated.
    Cuda,
    /// candle's CUDA backend on a GPU.
    Gpu,
    /// candle's CUDA backend on the simulated device.
    Sim,
}

impl Condition {
    /// One condition for each kind of device in `devices`.
    pub fn on(devices: &[Device], oracle: OracleName) -> Vec<Self> {
        let kinds: BTreeSet<Backend> = devices.iter().map(|&device| Backend::of(device, oracle)).collect();
        kinds.into_iter().map(|device| Self { device: Some(device), ..Self::default() }).collect()
    }

    /// Whether it holds on `platform`.
    pub fn holds(&self, platform: &Platform) -> bool {
        let device = self.device.is_none_or(|backend| backend.has(platform.device));
        let candle = self.candle.as_ref().is_none_or(|releases| releases.matches(&platform.candle));
        let capability = self.capability.as_ref().is_none_or(|required| {
            // The CPU has no capability to compare.
            platform.capability.as_ref().is_some_and(|capability| required.matches(capability))
        });
        device && candle && capability
    }
}

impl Backend {
    /// Where a failure on `device` is expected: one on a simulated device also on a GPU, unless only the simulator's `checker`
    /// sees it.
    pub fn of(device: Device, oracle: OracleName) -> Self {
        match device {
            Device::Cpu => Self::Cpu,
            Device::Cuda(_) | Device::Sim(_) if oracle == OracleName::Checker => Self::Sim,
            Device::Cuda(_) | Device::Sim(_) => Self::Cuda,
        }
    }

    /// Whether `device` is of this kind.
    pub fn has(self, device: Device) -> bool {
        match self {
            Self::Cpu => device == Device::Cpu,
            Self::Cuda => device != Device::Cpu,
            Self::Gpu => matches!(device, Device::Cuda(_)),
            Self::Sim => matches!(device, Device::Sim(_)),
        }
    }
}
