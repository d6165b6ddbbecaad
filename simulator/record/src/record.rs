//! A fault with how grave it is and who called: one line of the file that the driver appends to.

use serde::{Deserialize, Serialize};

use crate::Fault;

/// How grave a record is, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Ends a kernel or a call with an error, on hardware too.
    Fault,
    /// Is wrong and ends nothing.
    Report,
    /// The simulated device cannot do it; the program may be right.
    Unsupported,
    /// Is odd and may be meant.
    Fact,
    /// A call that `SNUFFER_SIM_FAIL` made fail.
    Injected,
}

impl Severity {
    /// The word for people, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Report => "report",
            Self::Unsupported => "unsupported",
            Self::Fact => "fact",
            Self::Injected => "injected",
        }
    }

    /// How the only line of such a record begins. Faults and reports have several lines, as `compute-sanitizer` prints them.
    pub fn mark(self) -> Option<&'static str> {
        match self {
            Self::Fault | Self::Report => None,
            Self::Unsupported => Some("snuffer-sim: unsupported: "),
            Self::Fact => Some("snuffer-sim: fact: "),
            Self::Injected => Some("snuffer-sim: asked to fail: "),
        }
    }
}

/// A function of the program that was running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Its name.
    pub function: String,
    /// Its file, as far as its debug information says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// A report of the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Written")]
pub struct Record {
    /// How grave it is.
    pub severity: Severity,
    /// What happened, and where.
    #[serde(flatten)]
    pub fault: Fault,
    /// The calls that led to it, the innermost first.
    #[serde(default)]
    pub host: Vec<Frame>,
}

/// A record as it is written: with its text, for programs that only show it.
#[derive(Serialize)]
struct Written {
    severity: Severity,
    #[serde(flatten)]
    fault: Fault,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    host: Vec<Frame>,
}

impl From<Record> for Written {
    fn from(Record { severity, fault, host }: Record) -> Self {
        Self { severity, message: fault.message(), fault, host }
    }
}
