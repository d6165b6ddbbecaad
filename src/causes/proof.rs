//! The proof of a fix: which failures pass with it, and that it breaks nothing.

use std::collections::BTreeSet;
use std::fmt;

use semver::Version;
use serde::{Deserialize, Serialize};

use crate::device::Device;

/// The failures with a fix and without it, by the names that a store gives them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The release that the fix changes.
    pub candle: Version,
    /// A digest of the fix.
    pub fix: String,
    /// How many fixes were proven at once, in the same builds, which tell them apart; 1 if it was there alone.
    pub among: usize,
    /// Where it was run.
    pub devices: BTreeSet<Device>,
    /// How many regressions and findings were run.
    pub run: usize,
    /// Failures of a device that every build without it has, and none with it. A limit may have come to light after it.
    pub fixes: BTreeSet<String>,
    /// Failures of a device that a predicate of the cause explains, and that builds with it have as well.
    pub leaves: BTreeSet<String>,
    /// Cases that pass on a device as released and in every build without it, and fail there in every build with it.
    pub breaks: BTreeSet<String>,
}

impl fmt::Display for Proof {
    /// The number of cases, and how many of them the fix fixes, leaves or breaks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let devices: Vec<String> = self.devices.iter().map(ToString::to_string).collect();
        let (fixes, leaves, breaks) = (self.fixes.len(), self.leaves.len(), self.breaks.len());
        let on = devices.join(", ");
        write!(f, "of {} cases on {on}: fixes {fixes}, leaves {leaves}, breaks {breaks}", self.run)
    }
}

impl Proof {
    /// True if the fix makes all that its cause explains pass, and breaks nothing.
    pub fn holds(&self) -> bool {
        !self.fixes.is_empty() && self.leaves.is_empty() && self.breaks.is_empty()
    }
}
