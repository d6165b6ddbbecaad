//! What became of a test or program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use device_record::Record;

/// How a test or program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Passed,
    /// Why, in words, such as `exit status: 101`.
    Failed(String),
    TimedOut,
    Ignored,
}

/// A test or program that ran.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TestResult {
    /// The package and the target: `mine/it`.
    pub binary: String,
    /// The test; `None` for a program.
    pub test: Option<String>,
    pub outcome: Outcome,
    pub seconds: f64,
    /// How often each kernel was launched.
    pub launches: BTreeMap<String, u64>,
    /// How often each function of a library, such as cuBLAS, worked on the device.
    #[serde(default)]
    pub library_calls: BTreeMap<String, u64>,
    /// The names of candle's known bugs in functions that led to a launch.
    #[serde(default)]
    pub known: BTreeSet<String>,
    /// What the device reported.
    pub records: Vec<Record>,
    /// What it printed, if that was kept.
    #[serde(default)]
    pub output: String,
}

impl TestResult {
    /// A test or program that passed at once and did nothing.
    pub fn new(binary: &str, test: Option<&str>) -> Self {
        Self {
            binary: binary.to_string(),
            test: test.map(str::to_string),
            outcome: Outcome::Passed,
            seconds: 0.0,
            launches: BTreeMap::new(),
            library_calls: BTreeMap::new(),
            known: BTreeSet::new(),
            records: Vec::new(),
            output: String::new(),
        }
    }

    /// The name for people.
    pub fn name(&self) -> String {
        self.test.as_ref().map_or_else(|| self.binary.clone(), |test| format!("{}: {test}", self.binary))
    }

    /// Whether it had the device do anything, by a kernel or by a library.
    pub fn worked(&self) -> bool {
        !self.launches.is_empty() || !self.library_calls.is_empty()
    }

    /// Whether it failed.
    pub fn failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_) | Outcome::TimedOut)
    }

    /// The results that runners left in `folder`, in order of name.
    pub fn all(folder: &Path) -> anyhow::Result<Vec<Self>> {
        let mut results = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            results.push(serde_json::from_slice::<Self>(&std::fs::read(entry?.path())?)?);
        }
        results.sort_by_key(Self::name);
        Ok(results)
    }
}
