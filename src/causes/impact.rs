//! How a cause shows, and whom it hits: the causes that most people meet in ordinary calls come first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::oracle::Rank;

/// Declares words with a name in files and in text.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$doc_of:meta])* $variant:ident = $key:literal $words:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$doc_of])* $variant,)*
        }

        impl $name {
            /// All of them, in the order in which lists have them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in files and on the command line.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$variant => $key,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(match self { $(Self::$variant => $words,)* })
            }
        }
    };
}

words! {
    /// The main thing that a user sees.
    Symptom {
        /// Values that are wrong.
        WrongValues = "wrong-values" "wrong values",
        /// NaN or an infinity in place of a number.
        NotFinite = "not-finite" "NaN or infinity",
        /// A gradient that is wrong.
        WrongGradient = "wrong-gradient" "wrong gradient",
        /// A gradient that is missing.
        NoGradient = "no-gradient" "no gradient",
        /// An access outside a tensor, or memory that was never written.
        OutOfBounds = "out-of-bounds" "access out of bounds",
        /// Work that nothing orders.
        Race = "race" "race",
        /// An error of CUDA, after which the context is dead.
        CudaError = "cuda-error" "CUDA error",
        /// A panic.
        Panic = "panic" "panic",
        /// A call that never ends.
        Hang = "hang" "call that never ends",
        /// A valid call that fails.
        Rejected = "rejected" "valid call rejected",
        /// An invalid call that returns something.
        Accepted = "accepted" "invalid call accepted",
        /// A right result that takes memory or work out of proportion.
        TooCostly = "too-costly" "memory or work out of proportion",
    }
}

words! {
    /// The calls that meet a cause.
    Hit {
        /// Valid calls as models make them, with default settings.
        Ordinary = "ordinary" "ordinary calls",
        /// Valid calls with unusual values, dtypes or settings.
        Rare = "rare" "rare calls",
        /// Calls that break the function's contract.
        Invalid = "invalid" "invalid calls",
        /// Tensors without elements.
        Empty = "empty" "empty tensors",
    }
}

impl Symptom {
    /// True if it shows only in a backward pass.
    pub const fn is_of_gradients(self) -> bool {
        matches!(self, Self::WrongGradient | Self::NoGradient)
    }
}

impl Hit {
    /// How many times as often as an invalid call such a call is met, roughly. Nobody needs the elements of an empty tensor.
    const fn weight(self) -> usize {
        match self {
            Self::Ordinary => 20,
            Self::Rare => 3,
            Self::Invalid => 1,
            Self::Empty => 0,
        }
    }
}

/// How much a cause matters: its rank, how ordinary the calls are that meet it, and how many models make such calls. Models make only
/// ordinary ones.
pub const fn impact(rank: Rank, hit: Hit, models: usize) -> usize {
    let callers = if matches!(hit, Hit::Ordinary) { 1 + models } else { 1 };
    weight(rank) * hit.weight() * callers
}

/// How many invalid calls are as bad as one failure of this rank, roughly.
const fn weight(rank: Rank) -> usize {
    match rank {
        Rank::Memory => 8,
        Rank::Wrong => 6,
        Rank::Crash => 4,
        Rank::Refusal => 2,
        Rank::Limit | Rank::Cost => 1,
    }
}

/// How many models there are, and a few of them.
pub fn some_of(models: &[String]) -> String {
    const SHOWN: usize = 5;
    let more = if models.len() > SHOWN { " …" } else { "" };
    let (some, s) = (models[..models.len().min(SHOWN)].join(", "), if models.len() == 1 { "" } else { "s" });
    format!("{} model{s} of candle-transformers: {some}{more}", models.len())
}
