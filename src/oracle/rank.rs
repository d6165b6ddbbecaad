//! The rank of a violation: how bad it is. Lists, counts, colours and severities of findings all go by it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Kind, OracleName, Signature};
use crate::outcome::CudaError;

/// How bad a violation is, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rank {
    /// Memory is used wrongly, or a signal ends the process.
    Memory,
    /// A wrong result, without an error.
    Wrong,
    /// A panic, a failed assertion or a hang: the process or its CUDA context is lost.
    Crash,
    /// A valid call is refused, or an invalid one is not.
    Refusal,
    /// candle says that it cannot do this, one device or layout is refused where another is accepted, or documentation is missing.
    Limit,
    /// The result is right, but takes memory or work out of proportion.
    Cost,
}

impl Rank {
    /// Every rank, the worst first.
    pub const ALL: [Self; 6] = [Self::Memory, Self::Wrong, Self::Crash, Self::Refusal, Self::Limit, Self::Cost];

    /// The rank in one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Wrong => "wrong",
            Self::Crash => "crash",
            Self::Refusal => "refusal",
            Self::Limit => "limit",
            Self::Cost => "cost",
        }
    }
}

impl Signature {
    /// The rank of the violations with this signature.
    pub fn rank(&self) -> Rank {
        match (self.oracle, &self.kind) {
            // Races, bytes that were never written, accesses outside of a view: hardware says nothing, or not every time.
            (OracleName::Checker, _) => Rank::Memory,
            (OracleName::Fault, Kind::Fault(CudaError::IllegalAddress | CudaError::MisalignedAddress)) => Rank::Memory,
            (OracleName::Fault, _) => Rank::Crash,
            (_, Kind::Died) => Rank::Memory,
            (_, Kind::Panic | Kind::Hang | Kind::StackOverflow | Kind::OutOfMemory) => Rank::Crash,
            (_, Kind::RefusedValid | Kind::NotRefused | Kind::RefusedGradient) => Rank::Refusal,
            (_, Kind::NotSupported | Kind::OnlyOneAccepts | Kind::Limitation | Kind::Undocumented) => Rank::Limit,
            (_, Kind::WrongValue | Kind::WrongShape | Kind::WrongDtype) => Rank::Wrong,
            (_, Kind::MissingGradient | Kind::Tracked | Kind::Differs) => Rank::Wrong,
            (_, Kind::GrowingMemory | Kind::TooMuchMemory | Kind::TooManyCopies) => Rank::Cost,
            (_, Kind::Serial | Kind::TooMuchWork) => Rank::Cost,
            (_, Kind::Fault(_) | Kind::Report(_)) => Rank::Crash,
        }
    }
}

impl std::str::FromStr for Rank {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let all = || Self::ALL.map(Self::name).join(", ");
        Self::ALL.into_iter().find(|rank| rank.name() == name).ok_or_else(|| format!("expected one of {}", all()))
    }
}

impl std::fmt::Display for Rank {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
