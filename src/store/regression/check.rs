//! Compares what a regression does with what is expected of it.

use super::{Expected, Regression, Status};
use crate::device::Device;
use crate::ops::Op;
use crate::oracle::{Evidence, OracleName, Signature, Verdict, judge};
use crate::outcome::Observation;
use crate::store::Platform;

/// A regression that did not do what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surprise {
    /// The device.
    pub device: Device,
    /// What it did, and what to do about it.
    pub what: String,
}

/// The unexpected results in `observations` of the regression's case; `platform` gives the platform of a device.
pub fn surprises(
    regression: &Regression,
    op: &'static Op,
    observations: &[Observation],
    platform: impl Fn(Device) -> Platform,
) -> Vec<Surprise> {
    let surprise = |seen: &Observation| {
        // Only a regression of the agreement oracle compares devices with each other.
        let compared = regression.signature.as_ref().is_some_and(|signature| signature.oracle == OracleName::Agreement);
        let observations = if compared { observations } else { std::slice::from_ref(seen) };
        let found = match judge(&Evidence::new(op, &regression.case, observations)) {
            Verdict::Fail(violation) => Some(violation.signature(op.name)),
            Verdict::Pass | Verdict::Skip(_) => None,
        };
        let what = regression.surprise(&platform(seen.device), found.as_ref())?;
        Some(Surprise { device: seen.device, what })
    };
    observations.iter().filter_map(surprise).collect()
}

impl Regression {
    fn surprise(&self, platform: &Platform, found: Option<&Signature>) -> Option<String> {
        let is_own = found.is_some_and(|found| self.signature.as_ref().is_none_or(|own| own == found));
        match (self.expected(platform), found) {
            (Expected::Either, _) => None,
            (Expected::Fails, _) if is_own => None,
            (Expected::Fails, None) => Some(
                "passes, but was expected to fail: if candle fixed it, set `status = \"fixed\"` and `fixed_in`, otherwise \
                 narrow `fails`"
                    .to_string(),
            ),
            (Expected::Fails, Some(other)) => Some(format!("fails, but differently: {other}")),
            (Expected::Passes, Some(found)) if is_own => Some(match self.status {
                Status::Fixed => "fails again, although candle had fixed it".to_string(),
                _ => format!("fails, but was expected to pass: {found}"),
            }),
            // Another violation belongs to another regression.
            (Expected::Passes, _) => None,
        }
    }
}
