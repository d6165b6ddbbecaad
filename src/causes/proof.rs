//! The proof of a fix: which failures pass with it, and that it breaks nothing.

use std::collections::BTreeSet;

use semver::Version;
use serde::{Deserialize, Serialize};

use crate::device::Device;

/// What was seen with a fix and without it. Failures go by the names that a store gives them.
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
    /// What fails on a device in every build without it, and in none with it. A limit may have come to light behind it.
    pub mends: BTreeSet<String>,
    /// What a predicate of the cause explains on a device, and fails there in a build with it as without.
    pub leaves: BTreeSet<String>,
    /// What passes on a device as released and in every build without it, and fails there in every build with it.
    pub breaks: BTreeSet<String>,
}

impl Proof {
    /// Whether it shows that the fix mends all that its cause explains, and breaks nothing.
    pub fn holds(&self) -> bool {
        !self.mends.is_empty() && self.leaves.is_empty() && self.breaks.is_empty()
    }
}
