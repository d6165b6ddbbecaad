//! Where a case runs: `cpu`, `cuda:0`, `sim:0`.

use serde::{Deserialize, Serialize};

/// A device by the name that people type.
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
            _ => Err(format!("`{name}` is no device; use `cpu`, `cuda:0` or `sim:0`")),
        }
    }
}
