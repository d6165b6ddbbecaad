//! Whether a regression does what is expected of it, wherever it was run.

use super::{Expected, Regression, Status};
use crate::device::Device;
use crate::ops::Op;
use crate::oracle::{Evidence, OracleName, Signature, Verdict, judge};
use crate::outcome::Observation;
use crate::store::Platform;

/// A regression that did something else than expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surprise {
    /// On which device.
    pub device: Device,
    /// What it did, and what to do about it.
    pub what: String,
}

/// What in `observations` of the regression's case, by `op`, is not as expected; `place` says where a device is.
pub fn surprises(
    regression: &Regression,
    op: &'static Op,
    observations: &[Observation],
    place: impl Fn(Device) -> Platform,
) -> Vec<Surprise> {
    let surprise = |seen: &Observation| {
        // Devices are compared with each other only where that is what fails.
        let compared = regression.signature.as_ref().is_some_and(|signature| signature.oracle == OracleName::Agreement);
        let observations = if compared { observations } else { std::slice::from_ref(seen) };
        let found = match judge(&Evidence::new(op, &regression.case, observations)) {
            Verdict::Fail(violation) => Some(violation.signature(op.name)),
            Verdict::Pass | Verdict::Skip(_) => None,
        };
        let what = regression.surprise(&place(seen.device), found.as_ref())?;
        Some(Surprise { device: seen.device, what })
    };
    observations.iter().filter_map(surprise).collect()
}

impl Regression {
    fn surprise(&self, place: &Platform, found: Option<&Signature>) -> Option<String> {
        let is_own = found.is_some_and(|found| self.signature.as_ref().is_none_or(|own| own == found));
        match (self.expected(place), found) {
            (Expected::Either, _) => None,
            (Expected::Fails, _) if is_own => None,
            (Expected::Fails, None) => Some(
                "passes, and was expected to fail: where candle fixed it, say so (`status = \"fixed\"`, `fixed_in`), else \
                 narrow `fails`"
                    .to_string(),
            ),
            (Expected::Fails, Some(other)) => Some(format!("fails in another way: {other}")),
            (Expected::Passes, Some(found)) if is_own => Some(match self.status {
                Status::Fixed => "is back, though candle had fixed it".to_string(),
                _ => format!("fails, and was expected to pass: {found}"),
            }),
            // Another violation than its own is another regression's matter.
            (Expected::Passes, _) => None,
        }
    }
}
