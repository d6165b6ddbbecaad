//! What a device said about a case. A simulated device leaves records; the driver and `compute-sanitizer` print text. Both become
//! the same reports.

mod compute_sanitizer;
mod printed;

use serde::Deserialize;

use crate::outcome::{DeviceReport, DeviceReports, Fault, Outcome, Place};
use crate::run::crate_path;

/// The fault with what the device printed about it; `Unsupported` if the simulator cannot run the case.
pub fn explain(fault: Fault, printed: &str) -> Outcome {
    Reports::from_text(printed).explain(fault)
}

/// What the device printed that ended nothing. `faulted`: the case ended by a fault.
pub fn device_reports(printed: &str, faulted: bool) -> DeviceReports {
    Reports::from_text(printed).device_reports(faulted)
}

/// The reports of a device, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reports(Vec<Report>);

/// One report. The simulated driver writes these fields, and more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
struct Report {
    severity: Severity,
    /// `assert`, `race`, `out of bounds` …
    kind: String,
    kernel: String,
    file: Option<String>,
    line: Option<u32>,
    /// All lines, joined by `; `.
    message: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Severity {
    #[default]
    Fault,
    Report,
    Fact,
    Unsupported,
    Injected,
}

/// The kind of a failed assertion.
const ASSERT: &str = "assert";

/// What an assertion's own line ends with.
const FAILED: &str = "` failed.";

impl Reports {
    /// Reads a simulated device's records, one on each line. A line that is cut is left out.
    pub fn from_records(records: &str) -> Self {
        Self(records.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }

    /// Reads what the driver, `compute-sanitizer` or a simulated device printed.
    pub fn from_text(printed: &str) -> Self {
        Self(printed::reports(printed))
    }

    /// Reads what a worker printed under a tool of `compute-sanitizer` until a kernel named `mark`, whose report is not
    /// returned, and whether that report is there. Reports of an earlier mark are late, and left out.
    pub fn from_sanitizer(printed: &str, mark: &str) -> (Self, bool) {
        let (mut reports, broken) = compute_sanitizer::reports(printed);
        let end = reports.iter().position(|report| report.kernel == mark);
        reports.truncate(end.unwrap_or(reports.len()));
        reports.retain(|report| !report.kernel.starts_with("mark_"));
        // The driver still prints assertions.
        reports.extend(printed::reports(printed).into_iter().filter(|report| report.kind == ASSERT));
        if broken > 0 {
            let message =
                format!("compute-sanitizer: {broken} reports were cut, or other output was between their lines");
            reports.push(Report { severity: Severity::Fact, message, ..Report::default() });
        }
        (Self(reports), end.is_some())
    }

    /// Whether nothing was reported.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fault with what the device reported about it; `Unsupported` if the simulator cannot run the case.
    pub fn explain(&self, mut fault: Fault) -> Outcome {
        if let Some(report) = self.of(Severity::Unsupported).next() {
            return Outcome::Unsupported(report.message.clone());
        }
        let ending = || self.without_assertions().into_iter().nth(self.ending()?).map(|it| (it.place(), it.text()));
        if let Some((place, message)) = self.assertion().or_else(ending) {
            fault.place = place;
            fault.message = message;
        }
        Outcome::Faulted(fault)
    }

    /// What ended nothing. `faulted`: the case ended by a fault.
    pub fn device_reports(&self, faulted: bool) -> DeviceReports {
        let mut device_reports = DeviceReports::default();
        let mut reports = self.without_assertions();
        if let Some(ending) = self.ending().filter(|_| faulted && self.assertion().is_none()) {
            reports.remove(ending);
        }
        for report in reports {
            let Some(kind) = report.checker().map(str::to_string) else { continue };
            let device_report = DeviceReport { kind, place: report.place(), message: report.text() };
            let same =
                |known: &DeviceReport| (&known.kind, &known.place) == (&device_report.kind, &device_report.place);
            if !device_reports.reports.iter().any(same) {
                device_reports.reports.push(device_report);
            }
        }
        for report in self.of(Severity::Fact) {
            let fact = report.text();
            if !device_reports.facts.contains(&fact) {
                device_reports.facts.push(fact);
            }
        }
        device_reports
    }

    /// The calls that were asked to fail: `cuMemAllocAsync returns CUDA_ERROR_OUT_OF_MEMORY`.
    pub fn injected(&self) -> impl Iterator<Item = &str> {
        self.of(Severity::Injected).map(|report| report.message.as_str())
    }

    fn of(&self, severity: Severity) -> impl Iterator<Item = &Report> {
        self.0.iter().filter(move |report| report.severity == severity)
    }

    fn without_assertions(&self) -> Vec<&Report> {
        let wrong = |report: &&Report| matches!(report.severity, Severity::Fault | Severity::Report);
        self.0.iter().filter(wrong).filter(|report| report.kind != ASSERT).collect()
    }

    /// Which of the reports without assertions ended the case: one after which no program goes on, or else the last one.
    fn ending(&self) -> Option<usize> {
        let reports = self.without_assertions();
        reports.iter().position(|report| report.checker().is_none()).or(reports.len().checked_sub(1))
    }

    /// Place and message of the first failed assertion.
    fn assertion(&self) -> Option<(Place, String)> {
        self.0.iter().find(|report| report.kind == ASSERT).and_then(Report::assertion)
    }
}

impl Report {
    /// The checker that found it, by its name in a device report.
    fn checker(&self) -> Option<&str> {
        match self.kind.as_str() {
            kind @ ("uninitialized read" | "race" | "barrier" | "stream race" | "out of view") => Some(kind),
            // Its title is that of a barrier error.
            "deadlock" => Some("barrier"),
            // What ends a kernel elsewhere ends nothing under a tool that goes on.
            kind if self.severity == Severity::Report => Some(kind),
            _ => None,
        }
    }

    /// The source line, or else the kernel.
    fn place(&self) -> Place {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => Place::line(crate_path(file), line),
            _ => Place::from(self.kernel.as_str()),
        }
    }

    fn text(&self) -> String {
        shortened(&self.message)
    }

    /// `file:line: function: block: [x,y,z], thread: [x,y,z] Assertion `condition` failed.`, and what else is known.
    fn assertion(&self) -> Option<(Place, String)> {
        let (line, details) = self.message.split_at(self.message.rfind(FAILED)? + FAILED.len());
        let (place, _) = line.split_once(": ")?;
        let (file, number) = place.rsplit_once(':')?;
        let path = kernel_path(file);
        Some((Place::line(path.clone(), number.parse().ok()?), line.replacen(file, &path, 1) + &shortened(details)))
    }
}

/// An assertion names the file as the compiler was given it: candle-kernels compiles in its own folder.
fn kernel_path(file: &str) -> String {
    if file.starts_with("src/") { format!("candle-kernels/{file}") } else { crate_path(file) }
}

/// A text with the paths in it as crates, without the machine they were compiled on.
fn shortened(text: &str) -> String {
    let short = |word: &str| match word.rsplit_once(':') {
        Some((file, number)) if file.starts_with('/') => format!("{}:{number}", crate_path(file)),
        _ => word.to_string(),
    };
    text.split(' ').map(short).collect::<Vec<_>>().join(" ")
}
