//! The platform that a case runs on: a device, its compute capability, and a release of candle.

use semver::Version;

use crate::device::{Device, Hardware};
use crate::exec::CandleUnderTest;

/// The platform that a case runs on.
#[derive(Debug, Clone)]
pub struct Platform {
    /// The device.
    pub device: Device,
    /// The release of candle.
    pub candle: Version,
    /// The device's compute capability, if it has one.
    pub capability: Option<Version>,
}

impl Platform {
    /// This platform with the candle that workers have. Versions of checkouts are those of releases.
    #[must_use]
    pub fn with(self, candle: Option<&CandleUnderTest>) -> Self {
        let other = candle.and_then(|candle| Version::parse(&candle.version).ok());
        Self { candle: other.unwrap_or(self.candle), ..self }
    }

    /// `device` with the release of candle that this build tests.
    pub fn today(device: Device, hardware: Option<&Hardware>) -> Self {
        let candle = Version::parse(crate::CANDLE).expect("a release");
        let version = |(major, minor): (u32, u32)| Version::new(major.into(), minor.into(), 0);
        Self { device, candle, capability: hardware.map(|hardware| version(hardware.capability)) }
    }
}
