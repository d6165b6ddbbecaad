//! Exit codes: one for each result that CI tells apart.

use std::fmt;
use std::process::ExitCode;

/// How `snuffer` ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// No contract was broken, and nothing got worse.
    Clean = 0,
    /// The command line, or a file named there, is wrong, or a device named there is missing.
    Usage = 1,
    /// Something broke a contract, or a comparison shows a difference that somebody should look at: any but what is newly accepted or
    /// newly passing.
    Findings = 2,
    /// A device cannot be opened, or can no longer be. A campaign may have gone on without it.
    DeviceLost = 3,
    /// A planted fault was not noticed: the campaign proves nothing.
    CanaryMissed = 4,
    /// The harness itself failed.
    Harness = 5,
    /// candle does as it should, because the call of the case is invalid.
    InvalidCall = 6,
}

impl fmt::Display for Exit {
    /// The code and its meaning: `2: findings`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meaning = match self {
            Self::Clean => "no findings",
            Self::Usage => "a mistake on the command line",
            Self::Findings => "findings",
            Self::DeviceLost => "a device was lost",
            Self::CanaryMissed => "a planted fault was missed, so this proves nothing",
            Self::Harness => "nothing ran, something was left out, or snuffer itself failed",
            Self::InvalidCall => "the call is invalid",
        };
        write!(f, "{}: {meaning}", *self as u8)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
