//! Where a case runs: `cpu`, `cuda:0`, `sim:0`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A device, by its name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Device {
    /// candle's CPU backend.
    Cpu,
    /// candle's CUDA backend on a real driver.
    Cuda(u8),
    /// candle's CUDA backend on the simulated driver.
    Sim(u8),
}

/// Devices as a person names them.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// One device: `cpu`, `cuda:0`, `sim:0`.
    One(Device),
    /// All GPUs that the driver shows: `cuda`.
    AllGpus,
}

impl Selection {
    /// Whether `device` is among them.
    pub fn contains(self, device: Device) -> bool {
        match self {
            Self::One(one) => one == device,
            Self::AllGpus => device.is_gpu(),
        }
    }
}

impl std::str::FromStr for Selection {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        if name == "cuda" { Ok(Self::AllGpus) } else { name.parse().map(Self::One) }
    }
}

/// A CUDA device's hardware, as its driver reports it.
#[doc(hidden)]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hardware {
    /// The device's name.
    pub name: String,
    /// Its compute capability, major and minor.
    pub capability: (u32, u32),
    /// How many multiprocessors it has, which some kernels split their sums by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiprocessors: Option<u32>,
    /// The version of the GPU's kernel module; a simulated device has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

/// The state of a real GPU when a worker has opened it.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// How many GPUs the driver shows.
    pub visible: usize,
    /// Memory that nobody uses, in MiB.
    pub free_mib: u64,
    /// All of its memory, in MiB.
    pub total_mib: u64,
}

impl std::fmt::Display for Hardware {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (major, minor) = self.capability;
        write!(f, "{}, compute capability {major}.{minor}", self.name)?;
        self.driver.as_ref().map_or(Ok(()), |driver| write!(f, ", driver {driver}"))
    }
}

impl Device {
    /// Whether it is a device of a real driver.
    pub fn is_gpu(self) -> bool {
        matches!(self, Self::Cuda(_))
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Self::Sim(ordinal) => write!(f, "sim:{ordinal}"),
        }
    }
}

impl From<Device> for String {
    fn from(device: Device) -> Self {
        device.to_string()
    }
}

impl TryFrom<String> for Device {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}

impl std::str::FromStr for Device {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let (kind, ordinal) = name.split_once(':').unwrap_or((name, ""));
        match (kind, ordinal.parse::<u8>()) {
            _ if name == "cpu" => Ok(Self::Cpu),
            // There are as many simulated devices as one asks for, so `sim` cannot mean all of them.
            _ if name == "sim" => Ok(Self::Sim(0)),
            ("cuda", Ok(ordinal)) => Ok(Self::Cuda(ordinal)),
            ("sim", Ok(ordinal)) => Ok(Self::Sim(ordinal)),
            _ => Err(format!("`{name}` is not a device; use `cpu`, `cuda:0` or `sim:0`")),
        }
    }
}
