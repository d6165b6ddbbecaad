//! What a cell of the matrix or a finding is marked with: a colour and a letter.

use serde::Serialize;

use crate::oracle::{Class, Signature};

/// What is known of an op in a dtype on a device, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// candle does not list the dtype.
    Unlisted,
    /// No campaign ran the op here.
    Untried,
    /// A campaign did, and there is no finding.
    Clean,
    /// Only one device takes it.
    Single,
    /// Refused, or accepted, wrongly.
    Refusal,
    /// A wrong value, shape, dtype or gradient.
    Wrong,
    /// candle or its process ends.
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
            Self::Refusal => ("refusal", "R", "wrongly refused or taken"),
            Self::Single => ("single", "1", "only another device takes it"),
            Self::Clean => ("clean", "·", "tried, nothing found"),
            Self::Untried => ("untried", "?", "not tried"),
            Self::Unlisted => ("unlisted", "–", "dtype not listed by candle"),
        };
        Look { name, letter, meaning }
    }

    /// Whether it is the mark of a finding.
    pub fn is_found(self) -> bool {
        self > Self::Clean
    }
}

/// A mark as pages show it.
#[derive(Debug, Serialize)]
pub struct Look {
    /// Its class in the style sheet, and its name in links.
    pub name: &'static str,
    /// Its letter, for whoever does not see the colour.
    pub letter: &'static str,
    /// What it says.
    pub meaning: &'static str,
}
