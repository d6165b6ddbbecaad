//! How often a case makes its call.

use serde::{Deserialize, Serialize};

/// A number of times: often enough to see what each call leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Repeat(u32);

impl Repeat {
    /// The least: growth is measured in two parts of three calls, after three.
    pub const LEAST: Self = Self(10);
    /// The most.
    const MOST: Self = Self(100_000);

    /// How many times the call is made.
    pub fn times(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Repeat {
    type Error = String;
    fn try_from(times: u32) -> Result<Self, String> {
        let (least, most) = (Self::LEAST.0, Self::MOST.0);
        let is_valid = (least..=most).contains(&times);
        is_valid.then_some(Self(times)).ok_or_else(|| format!("`repeat` is a number from {least} to {most}"))
    }
}

impl From<Repeat> for u32 {
    fn from(repeat: Repeat) -> Self {
        repeat.0
    }
}
