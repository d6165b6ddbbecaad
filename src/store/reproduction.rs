//! How reliably a finding happens, and what it does in a build without checks.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How reliably a finding happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reproduction {
    /// How often it was run after minimization, the first time in a new process.
    pub tries: u32,
    /// How often it failed with the same signature.
    pub failed: u32,
    /// What a build without debug assertions and overflow checks does.
    pub unchecked: Unchecked,
}

/// What a build without debug assertions and overflow checks does with a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Unchecked {
    /// It fails in the same way.
    Same,
    /// Its outcome, in a line.
    Other(String),
    /// Why it was not run.
    NotRun(String),
}

const SAME: &str = "the same";
const NOT_RUN: &str = "not run: ";

impl From<String> for Unchecked {
    fn from(text: String) -> Self {
        match text.strip_prefix(NOT_RUN) {
            Some(why) => Self::NotRun(why.to_string()),
            None if text == SAME => Self::Same,
            None => Self::Other(text),
        }
    }
}

impl From<Unchecked> for String {
    fn from(unchecked: Unchecked) -> Self {
        unchecked.to_string()
    }
}

impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same => f.write_str(SAME),
            Self::Other(outcome) => f.write_str(outcome),
            Self::NotRun(why) => write!(f, "{NOT_RUN}{why}"),
        }
    }
}
