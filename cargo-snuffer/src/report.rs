//! What the device saw in all tests together: each finding once, with the call that led to it.

mod junit;
mod sarif;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use device_record::{Detail, Frame, Record, Severity};
use serde::Serialize;

use crate::arguments::FailOn;
use crate::known_bugs;
use crate::record::Calls;
use crate::suppressions::Suppressions;
use crate::test_result::{Outcome, TestResult};

/// At most this many of the user's own calls are shown, the innermost first.
const FRAMES: usize = 4;

/// The results of a run.
#[derive(Debug, Serialize)]
pub struct Summary {
    results: Vec<TestResult>,
    findings: Vec<Finding>,
}

/// Records that say the same of the same place.
#[derive(Debug, Serialize)]
struct Finding {
    /// The first record.
    record: Record,
    /// The tests in which it was seen.
    tests: BTreeSet<String>,
    /// How to see it again.
    again: Option<String>,
    /// Why it is let pass, if it is.
    suppressed: Option<String>,
}

impl Summary {
    /// Sums `results` up. `again` is the command that runs one test.
    pub fn of(results: Vec<TestResult>, suppressions: &Suppressions, again: impl Fn(&str) -> String) -> Self {
        let mut findings: Vec<Finding> = Vec::new();
        for result in &results {
            for record in &result.records {
                let suppressed = suppressions.of(record, &result.name()).map(|entry| entry.reason.clone());
                let is_same =
                    |found: &&mut Finding| say_the_same(&found.record, record) && found.suppressed == suppressed;
                if let Some(found) = findings.iter_mut().find(is_same) {
                    found.tests.insert(result.name());
                    continue;
                }
                let again = result.test.as_deref().map(&again);
                let tests = BTreeSet::from([result.name()]);
                findings.push(Finding { record: record.clone(), tests, again, suppressed });
            }
        }
        findings.sort_by(|one, other| {
            let key = |it: &Finding| (it.suppressed.is_some(), it.record.severity);
            key(one).cmp(&key(other))
        });
        Self { results, findings }
    }

    /// Whether a finding that is not let pass is as grave as this.
    pub fn reaches(&self, least: FailOn) -> bool {
        self.findings.iter().any(|finding| finding.reaches(least))
    }

    /// As JSON.
    pub fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::from("\nOn the simulated device: ");
        if self.results.is_empty() {
            return text + "nothing ran.\n";
        }
        let count = |is_it: fn(&TestResult) -> bool| self.results.iter().filter(|result| is_it(result)).count();
        let ran = count(|it| it.outcome != Outcome::Ignored);
        let (failed, without) = (count(TestResult::failed), count(|it| it.outcome == Outcome::Passed && !it.worked()));
        let mut kernels: BTreeMap<&str, u64> = BTreeMap::new();
        for (kernel, times) in self.results.iter().flat_map(|result| &result.launches) {
            *kernels.entry(kernel).or_default() += times;
        }
        let calls = self.results.iter().flat_map(|result| result.library_calls.values()).sum();
        let processes = counted(ran as u64, "process", "processes");
        let launches = counted(kernels.values().sum(), "launch", "launches");
        let kernels = counted(kernels.len() as u64, "kernel", "kernels");
        let _ = write!(text, "{processes}, {failed} failed; {launches} of {kernels}");
        if calls > 0 {
            let _ = write!(text, ", {}", counted(calls, "library call", "library calls"));
        }
        text += ".\n";
        if !self.results.iter().any(TestResult::worked) && self.findings.is_empty() {
            text += "No kernel was launched: was the program built with its CUDA feature?\n";
        } else if without > 0 {
            let _ = writeln!(text, "{without} passed without a launch.");
        }
        self.findings.iter().filter(|it| it.record.severity < Severity::Injected).for_each(|it| text += &it.text());
        let known: BTreeSet<&str> = self.results.iter().flat_map(|result| &result.known).map(String::as_str).collect();
        text + &known_bugs::text(&known)
    }
}

impl Finding {
    fn reaches(&self, least: FailOn) -> bool {
        let severity = match self.record.severity {
            Severity::Fault => FailOn::Fault,
            Severity::Report => FailOn::Report,
            Severity::Unsupported => FailOn::Unsupported,
            Severity::Fact | Severity::Injected => return false,
        };
        self.suppressed.is_none() && least != FailOn::Never && severity >= least
    }

    /// A paragraph.
    fn text(&self) -> String {
        let Record { severity, fault, .. } = &self.record;
        let (word, kind, kernel) = (severity.name(), fault.kind, &fault.place.kernel);
        if let Some(reason) = &self.suppressed {
            return format!("\nsuppressed {word}: {kind} in {kernel}: {reason}\n");
        }
        let mut text = match &fault.detail {
            Detail::Missing { function } if function.starts_with("nvrtc") => {
                format!("\n{word}: {}; `cargo snuffer setup --nvrtc` fetches NVIDIA's\n", fault.title())
            }
            _ if kernel.is_empty() => format!("\n{word}: {}\n", fault.title()),
            _ => {
                let place = fault.place.source.as_ref();
                let place =
                    place.map_or_else(String::new, |source| format!(" ({}:{})", short(&source.file), source.line));
                format!("\n{word}: {kind} in {kernel}{place}\n")
            }
        };
        if !kernel.is_empty() {
            // Where it is stands in the line above.
            let place = fault.place.to_string();
            for line in fault.lines().into_iter().filter(|line| *line != place) {
                let _ = writeln!(text, "    {line}");
            }
        }
        let _ = writeln!(text, "    help: {}", kind.help());
        if let Some(called) = self.record.called() {
            let _ = writeln!(text, "    called through {}", called.function);
        }
        for frame in self.record.own_frames().take(FRAMES) {
            let place = place(frame).map_or_else(String::new, |place| format!(" ({place})"));
            let _ = writeln!(text, "    from {}{place}", frame.function);
        }
        match (self.tests.len(), &self.again, self.tests.first()) {
            (1, None, Some(only)) => text += &format!("    in {only}\n"),
            (1, ..) => {}
            (number, ..) => text += &format!("    in {number} tests\n"),
        }
        if let Some(again) = &self.again {
            let _ = writeln!(text, "    again: {again}");
        }
        text
    }
}

/// True if two records have the same place and kind; threads and addresses may differ.
fn say_the_same(one: &Record, other: &Record) -> bool {
    let key = |it: &Record| (it.severity, it.fault.kind, it.fault.place.kernel.clone(), it.fault.place.source.clone());
    let is_placed = !one.fault.place.kernel.is_empty();
    key(one) == key(other)
        && one.own_frame() == other.own_frame()
        && (is_placed || one.fault.detail == other.fault.detail)
}

/// Where a call is, if that is known.
fn place(frame: &Frame) -> Option<String> {
    Some(format!("{}:{}", short(frame.file.as_ref()?), frame.line?))
}

/// A call's file as seen from this folder, if it is below.
fn relative(frame: &Frame) -> Option<&Path> {
    let file = Path::new(frame.file.as_ref()?);
    let here = std::env::current_dir().ok()?;
    if file.is_relative() { Some(file) } else { file.strip_prefix(here).ok() }
}

/// A path without the folders that say nothing: those of Cargo's registry, and this one.
fn short(path: &str) -> String {
    if let Some((_, rest)) = path.split_once("/registry/src/") {
        return rest.split_once('/').map_or(rest, |(_, rest)| rest).to_string();
    }
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&*here.to_string_lossy()).map_or(path, |path| path.trim_start_matches('/')).to_string()
}

/// A number with its noun.
pub fn counted(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}
