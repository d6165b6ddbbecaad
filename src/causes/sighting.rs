//! A failure to explain: the common part of findings and regressions.

use crate::case::Case;
use crate::device::Device;
use crate::exec::CandleUnderTest;
use crate::oracle::Signature;
use crate::store::Finding;
use crate::store::regression::{Backend, Regression};

/// A failure.
#[derive(Debug, Clone)]
pub struct Sighting<'a> {
    /// Its identity.
    pub signature: &'a Signature,
    /// The minimized case.
    pub case: &'a Case,
    /// The devices that show it.
    pub devices: Vec<Device>,
    /// The candle that shows it, if it is not the release under test.
    pub candle: Option<&'a CandleUnderTest>,
}

impl<'a> Sighting<'a> {
    /// The failure of `finding`.
    pub fn of(finding: &'a Finding) -> Self {
        let Finding { signature, violation, case, origin, .. } = finding;
        Self { signature, case, devices: violation.devices().collect(), candle: origin.candle.as_ref() }
    }

    /// The failure that `regression` keeps, if it has one.
    pub fn kept(regression: &'a Regression) -> Option<Self> {
        let device = |backend| match backend {
            Backend::Cpu => Device::Cpu,
            Backend::Cuda | Backend::Gpu => Device::Cuda(0),
            Backend::Sim => Device::Sim(0),
        };
        let devices = regression.fails.iter().filter_map(|condition| condition.device).map(device).collect();
        Some(Self { signature: regression.signature.as_ref()?, case: &regression.case, devices, candle: None })
    }
}
