//! Compares what a regression does with what is expected of it.

use super::{Expected, Regression, Status};
use crate::device::Device;
use crate::ops::Op;
use crate::oracle::{Evidence, OracleName, Signature, judge};
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
    let surprise = |(device, found): (Device, Vec<Signature>)| {
        let what = regression.surprise(&platform(device), &found)?;
        Some(Surprise { device, what })
    };
    failures(regression, op, observations).into_iter().filter_map(surprise).collect()
}

/// How the regression's case fails on each device.
pub fn failures(
    regression: &Regression,
    op: &'static Op,
    observations: &[Observation],
) -> Vec<(Device, Vec<Signature>)> {
    // Only a regression of the agreement oracle compares devices with each other: each with the first.
    let compared = regression.signature.as_ref().is_some_and(|signature| signature.oracle == OracleName::Agreement);
    let found = |seen: &Observation| {
        let observations = if compared { observations } else { std::slice::from_ref(seen) };
        (seen.device, judge(&Evidence::new(op, &regression.case, observations)).signatures(op.name))
    };
    observations.iter().skip(usize::from(compared)).map(found).collect()
}

/// The regression with the signature that its failure has now, if that differs only in what it says of the same failure.
pub fn signed(regression: &Regression, op: &'static Op, observations: &[Observation]) -> Option<Regression> {
    let own = regression.signature.as_ref()?;
    let found = judge(&Evidence::new(op, &regression.case, observations)).signatures(op.name);
    let now = found.iter().find(|other| own.is_alike(other)).filter(|_| !found.contains(own))?;
    Some(Regression { signature: Some(now.clone()), ..regression.clone() })
}

impl Regression {
    /// What is unexpected of a case that fails with the signatures `found`, on one device.
    fn surprise(&self, platform: &Platform, found: &[Signature]) -> Option<String> {
        let own = self.signature.as_ref().map(Signature::on_one_device);
        let is_own = |other: &&Signature| own.as_ref().is_none_or(|own| own == *other);
        match (self.expected(platform), found.iter().find(is_own), found.first()) {
            (Expected::Either, ..) | (Expected::Fails, Some(_), _) => None,
            (Expected::Fails, None, None) => Some(
                "passes, but was expected to fail: if candle fixed it, set `status = \"fixed\"` and `fixed_in`, otherwise \
                 narrow `fails`"
                    .to_string(),
            ),
            (Expected::Fails, None, Some(other)) => Some(format!("fails, but differently: {other}")),
            (Expected::Passes, Some(found), _) => Some(match self.status {
                Status::Fixed => "fails again, although candle had fixed it".to_string(),
                _ => format!("fails, but was expected to pass: {found}"),
            }),
            // Another violation belongs to another regression.
            (Expected::Passes, None, _) => None,
        }
    }
}
