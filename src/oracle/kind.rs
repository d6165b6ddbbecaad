//! The vocabulary of violations: the names of oracles, and the kinds of violation. Their text forms are part of signatures.

use std::cmp::Ordering;
use std::fmt;

use device_record::Kind as Report;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::outcome::CudaError;

/// Defines [`OracleName`] from its variants, each with its text.
macro_rules! oracles {
    ($($oracle:ident = $text:literal,)*) => {
        /// An oracle by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[allow(missing_docs)]
        pub enum OracleName {
            $(#[serde(rename = $text)] $oracle,)*
        }

        impl OracleName {
            /// The text form.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$oracle => $text,)*
                }
            }
        }
    };
}

oracles! {
    Contract = "contract",
    Fault = "fault",
    Checker = "checker",
    Reference = "reference",
    Invariant = "invariant",
    Gradient = "gradient",
    SecondDerivative = "second derivative",
    Layout = "layout",
    Agreement = "agreement",
    Siblings = "siblings",
    Samples = "samples",
    Training = "training",
    Determinism = "determinism",
    Documentation = "documentation",
    Cost = "cost",
}

/// Defines [`Kind`] from its variants with a fixed text, so that none is without one.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $text:literal,)*) => {
        /// A kind of violation: how candle broke its promise.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
            /// A CUDA error ended the case.
            Fault(CudaError),
            /// A checker of the device reported it.
            Report(Report),
        }

        impl Kind {
            /// The text form.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$kind => $text,)*
                    Self::Fault(error) => error.name(),
                    Self::Report(report) => report.name(),
                }
            }
        }

        impl From<&str> for Kind {
            fn from(name: &str) -> Self {
                match name {
                    $($text => Self::$kind,)*
                    other => match other.parse() {
                        // Both report an assertion; a checker's ends no case.
                        Ok(Report::Assert) | Err(_) => Self::Fault(CudaError::from(other.to_string())),
                        Ok(report) => Self::Report(report),
                    },
                }
            }
        }
    };
}

kinds! {
    /// A value, gradient or second derivative outside its bound.
    WrongValue = "wrong value",
    /// The wrong number of outputs, or an output of another shape.
    WrongShape = "wrong shape",
    /// An output of another dtype.
    WrongDtype = "wrong dtype",
    /// An output is tracked for gradients although no input is a variable: it keeps a graph alive.
    Tracked = "tracked",
    /// No `Err` although an argument breaks a rule.
    NotRefused = "invalid not refused",
    /// An `Err` for a valid call.
    RefusedValid = "refused valid",
    /// A Rust panic.
    Panic = "panic",
    /// A signal ended the process.
    Died = "died",
    /// The process overflowed its stack.
    StackOverflow = "stack overflow",
    /// The deadline passed, or the device's watchdog ended a kernel.
    Hang = "hang",
    /// The process needed more memory than its limit.
    OutOfMemory = "out of memory",
    /// A gradient is missing, and there was no error.
    MissingGradient = "missing",
    /// An `Err` from the backward pass of a valid call.
    RefusedGradient = "refused",
    /// candle says that it has no backward pass for a valid call.
    NotSupported = "not supported",
    /// One device accepts the call and another refuses it.
    OnlyOneAccepts = "only one accepts",
    /// An `Err` where candle can do the same for another layout, and says that it cannot for this one.
    Limitation = "limitation",
    /// Two runs of one case differ.
    Differs = "differs",
    /// A result that candle's code intends and its documentation does not tell.
    Undocumented = "undocumented",
    /// Memory that each call leaves behind.
    GrowingMemory = "growing memory",
    /// Much more memory at once than the inputs and outputs have.
    TooMuchMemory = "too much memory",
    /// Many more bytes are copied than the inputs and outputs have.
    TooManyCopies = "too many copies",
    /// A few threads do the work, one step after the other.
    Serial = "serial",
    /// Many more instructions than the inputs and outputs have elements.
    TooMuchWork = "too much work",
}

impl From<CudaError> for Kind {
    /// A hang is one, whoever notices it.
    fn from(error: CudaError) -> Self {
        match error {
            CudaError::Hang => Self::Hang,
            error => Self::Fault(error),
        }
    }
}

impl From<String> for Kind {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<Kind> for String {
    fn from(kind: Kind) -> Self {
        kind.name().to_string()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for OracleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

// Ordered by text, for people who read lists.
impl Ord for Kind {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name().cmp(other.name())
    }
}

impl PartialOrd for Kind {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OracleName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name().cmp(other.name())
    }
}

impl PartialOrd for OracleName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
