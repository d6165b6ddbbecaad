//! Since which release of candle a cause is there.

use std::fmt;

use semver::Version;
use serde::{Deserialize, Serialize};

use crate::device::Device;

/// The oldest release that has a cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// The oldest of the tested releases that has the cause. All tested releases after it have it, too.
    pub release: Version,
    /// The tested release before it. `None` if `release` is the oldest that was tested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub before: Option<Version>,
    /// True if `before` lacks a function or dtype of each op that shows the cause in `release`.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub is_lacking: bool,
    /// Where it was run.
    pub device: Device,
    /// A failure that `release` has, by the name that a store gives it.
    pub failure: String,
}

impl Since {
    /// The release, and `≤` if an earlier one may have it, too.
    pub fn short(&self) -> String {
        let is_known = self.before.is_some() && !self.is_lacking;
        format!("{}{}", if is_known { "" } else { "≤ " }, self.release)
    }
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { release, before, is_lacking, .. } = self;
        let device = if self.device == Device::Cpu { "CPU".to_string() } else { self.device.to_string() };
        match before {
            None => write!(f, "Present since at least {release} (the oldest release tried, {device})"),
            Some(before) if *is_lacking => {
                write!(f, "Present since at least {release} ({device}); {before} lacks something that the call uses")
            }
            Some(before) => write!(f, "A regression in {release}: {before} does not have it ({device})"),
        }
    }
}
