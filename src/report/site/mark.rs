//! The mark of a matrix cell or a finding: a colour and a letter.

use serde::Serialize;

use crate::oracle::Rank;

/// The state of an op in a dtype on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The worst finding has this rank.
    Found(Rank),
    /// A campaign ran it and found nothing.
    Clean,
    /// No campaign ran the op here.
    Untried,
    /// candle does not list the dtype.
    Unlisted,
}

impl Mark {
    /// Every mark, the worst first.
    pub fn all() -> impl Iterator<Item = Self> {
        Rank::ALL.into_iter().map(Self::Found).chain([Self::Clean, Self::Untried, Self::Unlisted])
    }

    /// How it is shown.
    pub fn look(self) -> Look {
        let (name, letter, meaning) = match self {
            Self::Found(rank) => {
                let (letter, meaning) = match rank {
                    Rank::Memory => ("M", "wrong use of memory, or a killed process"),
                    Rank::Wrong => ("W", "wrong value, shape or gradient"),
                    Rank::Crash => ("C", "panic, assert or hang"),
                    Rank::Refusal => ("R", "wrongly refused or accepted"),
                    Rank::Limit => ("L", "only another device accepts it, or no backward pass"),
                    Rank::Cost => ("$", "right, but takes memory or work out of proportion"),
                };
                (rank.name(), letter, meaning)
            }
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
