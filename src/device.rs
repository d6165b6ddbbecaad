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

/// A CUDA device's hardware, as its driver reports it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hardware {
    /// The device's name.
    pub name: String,
    /// Its compute capability, major and minor.
    pub capability: (u32, u32),
    /// The version of the GPU's kernel module; a simulated device has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

impl std::fmt::Display for Hardware {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (major, minor) = self.capability;
        write!(f, "{}, compute capability {major}.{minor}", self.name)?;
        self.driver.as_ref().map_or(Ok(()), |driver| write!(f, ", driver {driver}"))
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
        let (kind, ordinal) = name.split_once(':').unwrap_or((name, "0"));
        let numbered = ordinal.parse::<u8>();
        match (kind, numbered) {
            ("cpu", _) if name == "cpu" => Ok(Self::Cpu),
            ("cuda", Ok(ordinal)) => Ok(Self::Cuda(ordinal)),
            ("sim", Ok(ordinal)) => Ok(Self::Sim(ordinal)),
            _ => Err(format!("`{name}` is not a device; use `cpu`, `cuda:0` or `sim:0`")),
        }
    }
}
