//! The mark of a matrix cell or a finding: a colour and a letter.

use serde::Serialize;

use crate::oracle::{Class, Signature};

/// The state of an op in a dtype on a device, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// candle does not list the dtype.
    Unlisted,
    /// No campaign ran the op here.
    Untried,
    /// A campaign ran it and found nothing.
    Clean,
    /// Only one device accepts it.
    Single,
    /// Wrongly refused or accepted.
    Refusal,
    /// A wrong value, shape, dtype or gradient.
    Wrong,
    /// candle panics, or its process dies or hangs.
    Crash,
    /// The device diagnosed something.
    Fault,
}

impl Mark {
    /// Every mark, the worst first.
    pub const ALL: [Self; 8] = [
        Self::Fault,
        Self::Crash,
        Self::Wrong,
        Self::Refusal,
        Self::Single,
        Self::Clean,
        Self::Untried,
        Self::Unlisted,
    ];

    /// The mark of a finding.
    pub fn of(signature: &Signature) -> Self {
        match signature.kind.class(signature.oracle) {
            Class::Fault => Self::Fault,
            Class::Crash => Self::Crash,
            Class::Refusal => Self::Refusal,
            Class::Single => Self::Single,
            Class::Wrong => Self::Wrong,
        }
    }

    /// How it is shown.
    pub fn look(self) -> Look {
        let (name, letter, meaning) = match self {
            Self::Fault => ("fault", "F", "assert or other device fault"),
            Self::Crash => ("crash", "P", "panic, death or hang"),
            Self::Wrong => ("wrong", "W", "wrong value, shape or gradient"),
            Self::Refusal => ("refusal", "R", "wrongly refused or accepted"),
            Self::Single => ("single", "1", "only another device accepts it"),
            Self::Clean => ("clean", "·", "tried, nothing found"),
            Self::Untried => ("untried", "?", "not tried"),
            Self::Unlisted => ("unlisted", "–", "dtype not listed by candle"),
        };
        Look { name, letter, meaning }
    }
}

/// A mark as pages show it.
#[derive(Debug, Serialize)]
pub struct Look {
    /// Its class in the style sheet, and its name in links.
    pub name: &'static str,
    /// Its letter, for readers who cannot see the colour.
    pub letter: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
}
