//! What a test of a crate did, as `cargo snuffer --json` says it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::known::failure;

/// How a test ended.
#[derive(Debug)]
pub enum Outcome {
    Pass,
    /// It failed, or the device reported something; how.
    Fail(String),
    /// The device cannot do this.
    Unsupported(String),
}

/// A test that ended.
pub struct Finished {
    /// Its name; of a program, its own.
    pub name: String,
    pub outcome: Outcome,
    /// How many kernels it launched.
    pub launches: u64,
    pub time: Duration,
}

impl Outcome {
    /// What is wrong, if anything.
    pub fn problem(&self) -> Option<&str> {
        match self {
            Self::Pass => None,
            Self::Fail(why) | Self::Unsupported(why) => Some(why),
        }
    }

    /// What the device cannot do.
    pub fn unsupported(&self) -> Option<&str> {
        if let Self::Unsupported(what) = self { Some(what) } else { None }
    }
}

/// The parts of the summary that matter.
#[derive(Deserialize)]
struct Summary {
    results: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    binary: String,
    #[serde(rename = "test")]
    name: Option<String>,
    outcome: Value,
    seconds: f64,
    launches: BTreeMap<String, u64>,
    records: Vec<Record>,
    #[serde(default)]
    output: String,
}

#[derive(Deserialize)]
struct Record {
    severity: String,
    kind: String,
    kernel: String,
    message: String,
}

/// Reads a summary. Tests that the crate ignores are left out.
pub fn read(json: &[u8]) -> anyhow::Result<Vec<Finished>> {
    let Summary { results } = serde_json::from_slice(json)?;
    Ok(results.into_iter().filter(|test| test.outcome != "ignored").map(Test::finished).collect())
}

impl Test {
    fn finished(self) -> Finished {
        let outcome = self.outcome();
        let Self { binary, name, seconds, launches, .. } = self;
        // `package/target`, if they differ.
        let program = || binary.rsplit_once('/').map_or(binary.as_str(), |(_, target)| target).to_string();
        Finished {
            name: name.unwrap_or_else(program),
            outcome,
            launches: launches.values().sum(),
            time: Duration::from_secs_f64(seconds),
        }
    }

    /// What the device saw comes first: a test that fails because of it says less.
    fn outcome(&self) -> Outcome {
        let of = |severity: &str| self.records.iter().find(|record| record.severity == severity);
        if let Some(record) = of("unsupported") {
            // The kernel's name says nothing of what is lacking.
            let what = record.message.strip_prefix(&format!("{}: ", record.kernel)).unwrap_or(&record.message);
            return Outcome::Unsupported(what.to_string());
        }
        if let Some(record) = of("fault").or_else(|| of("report")) {
            let headline = record.message.split("; ").next().unwrap_or_default();
            return Outcome::Fail(format!("{} in {}: {headline}", record.kind, record.kernel));
        }
        match &self.outcome {
            Value::String(word) if word == "passed" => Outcome::Pass,
            Value::String(word) if word == "timed_out" => Outcome::Fail("timed out".to_string()),
            _ => Outcome::Fail(failure(&self.output)),
        }
    }
}

#[cfg(test)]
impl Finished {
    /// A test that passed without a launch.
    pub fn passed(name: &str) -> Self {
        Self { name: name.to_string(), outcome: Outcome::Pass, launches: 0, time: Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_report_of_the_device_is_a_failure_although_the_test_passes() {
        let test = |outcome: &str, records: &str, output: &str| {
            format!(
                "{{\"binary\":\"a/b\",\"test\":\"t\",\"outcome\":{outcome},\"seconds\":1,\"launches\":{{\"k\":2}},\
                 \"records\":[{records}],\"output\":\"{output}\"}}"
            )
        };
        let record = |severity: &str| {
            format!("{{\"severity\":\"{severity}\",\"kind\":\"race\",\"kernel\":\"k\",\"message\":\"Race; at k\"}}")
        };
        for (json, problem) in [
            (test("\"passed\"", "", ""), None),
            (test("\"passed\"", &record("fact"), ""), None),
            (test("\"passed\"", &record("report"), ""), Some("race in k: Race")),
            (test("\"passed\"", &format!("{},{}", record("report"), record("unsupported")), ""), Some("Race; at k")),
            (test("\"timed_out\"", "", ""), Some("timed out")),
            (test("{\"failed\":\"exit status: 101\"}", "", "Error: no"), Some("Error: no")),
        ] {
            let finished = read(format!("{{\"results\":[{json}]}}").as_bytes()).expect("valid");
            assert_eq!(finished[0].outcome.problem(), problem, "{json}");
            assert_eq!((finished[0].name.as_str(), finished[0].launches), ("t", 2));
        }
        let ignored = format!("{{\"results\":[{}]}}", test("\"ignored\"", "", ""));
        assert!(read(ignored.as_bytes()).expect("valid").is_empty());
    }
}
