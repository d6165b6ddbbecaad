//! What a test of a crate did, as `cargo snuffer --json` says it.

use std::collections::{BTreeMap, BTreeSet};
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
    /// Whether it launched a kernel, or had a library work on the device.
    pub launches_work: bool,
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
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    record: Record,
    /// As `cargo snuffer` names them: with their binary.
    tests: BTreeSet<String>,
    /// Why it is let pass, if it is.
    suppressed: Option<String>,
}

#[derive(Deserialize)]
struct Test {
    binary: String,
    #[serde(rename = "test")]
    name: Option<String>,
    outcome: Value,
    seconds: f64,
    launches: BTreeMap<String, u64>,
    library_calls: BTreeMap<String, u64>,
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
    let Summary { results, mut findings } = serde_json::from_slice(json)?;
    findings.retain(|finding| finding.suppressed.is_none());
    let ran = results.into_iter().filter(|test| test.outcome != "ignored");
    Ok(ran.map(|test| test.finished(&findings)).collect())
}

impl Test {
    fn finished(self, findings: &[Finding]) -> Finished {
        let outcome = self.outcome(findings);
        let Self { binary, name, seconds, launches, library_calls, .. } = self;
        // `package/target`, if they differ.
        let program = || binary.rsplit_once('/').map_or(binary.as_str(), |(_, target)| target).to_string();
        Finished {
            name: name.unwrap_or_else(program),
            outcome,
            launches_work: !launches.is_empty() || !library_calls.is_empty(),
            time: Duration::from_secs_f64(seconds),
        }
    }

    /// What the device saw comes first: a test that fails because of it says less.
    fn outcome(&self, findings: &[Finding]) -> Outcome {
        let name = self.name.as_ref().map_or_else(|| self.binary.clone(), |name| format!("{}: {name}", self.binary));
        let own: Vec<&Record> =
            findings.iter().filter(|finding| finding.tests.contains(&name)).map(|finding| &finding.record).collect();
        let of = |severity: &str| own.iter().find(|record| record.severity == severity);
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
    /// A test that passed without the device.
    pub fn passed(name: &str) -> Self {
        Self { name: name.to_string(), outcome: Outcome::Pass, launches_work: false, time: Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_report_of_the_device_is_a_failure_although_the_test_passes() {
        let run = |outcome: &str, findings: &str, output: &str| {
            format!(
                "{{\"results\":[{{\"binary\":\"a/b\",\"test\":\"t\",\"outcome\":{outcome},\"seconds\":1,\"launches\":{{}},\
                 \"library_calls\":{{\"f\":2}},\"output\":\"{output}\"}}],\"findings\":[{findings}]}}"
            )
        };
        let finding = |severity: &str, test: &str, suppressed: &str| {
            format!(
                "{{\"record\":{{\"severity\":\"{severity}\",\"kind\":\"race\",\"kernel\":\"k\",\"message\":\"Race; at k\"}},\
                 \"tests\":[\"a/b: {test}\"],\"suppressed\":{suppressed}}}"
            )
        };
        let report = finding("report", "t", "null");
        for (json, problem) in [
            (run("\"passed\"", "", ""), None),
            (run("\"passed\"", &finding("fact", "t", "null"), ""), None),
            (run("\"passed\"", &report, ""), Some("race in k: Race")),
            (run("\"passed\"", &finding("report", "another", "null"), ""), None),
            (run("\"passed\"", &finding("report", "t", "\"is harmless\""), ""), None),
            (run("\"passed\"", &format!("{report},{}", finding("unsupported", "t", "null")), ""), Some("Race; at k")),
            (run("\"timed_out\"", "", ""), Some("timed out")),
            (run("{\"failed\":\"exit status: 101\"}", "", "Error: no"), Some("Error: no")),
        ] {
            let finished = read(json.as_bytes()).expect("valid");
            assert_eq!(finished[0].outcome.problem(), problem, "{json}");
            assert_eq!((finished[0].name.as_str(), finished[0].launches_work), ("t", true));
        }
        assert!(read(run("\"ignored\"", "", "").as_bytes()).expect("valid").is_empty());
    }
}
