//! What a device said about a case. A simulated device leaves records; the driver and `compute-sanitizer` print text. Both become
//! the same reports.

mod compute_sanitizer;
mod printed;

use device_record::{Assertion, Kind, Record, Severity, Source, Thread};

use super::fence::Unlocated;
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

/// One report: a record of the simulated driver, or as far as a text says it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Report {
    severity: Severity,
    /// `None` if the text does not tell.
    kind: Option<Kind>,
    place: device_record::Place,
    /// The assertion that failed, and its thread.
    assertion: Option<(Assertion, Thread)>,
    /// The first one says what happened.
    lines: Vec<String>,
}

impl From<Record> for Report {
    fn from(Record { severity, fault, .. }: Record) -> Self {
        let lines = fault.lines();
        let assertion = match fault.detail {
            device_record::Detail::Assertion(assertion) => fault.thread.map(|thread| (assertion, thread)),
            _ => None,
        };
        Self { severity, kind: Some(fault.kind), place: fault.place, assertion, lines }
    }
}

impl Reports {
    /// Reads the records of a simulated device or of the fence, one on each line. A line that is cut is left out.
    pub fn from_records(records: &str) -> Self {
        let record = |line: &str| serde_json::from_str::<Unlocated>(line).ok().map(Unlocated::located);
        Self(records.lines().filter_map(record).map(Report::from).collect())
    }

    /// Reads what the driver, `compute-sanitizer` or a simulated device printed.
    pub fn from_text(printed: &str) -> Self {
        Self(printed::reports(printed))
    }

    /// Reads what a worker printed under a tool of `compute-sanitizer` until a kernel named `mark`, whose report is not
    /// returned, and whether that report is there. Reports of an earlier mark are late, and left out.
    pub fn from_sanitizer(printed: &str, mark: &str) -> (Self, bool) {
        let (mut reports, broken) = compute_sanitizer::reports(printed);
        let end = reports.iter().position(|report| report.place.kernel == mark);
        reports.truncate(end.unwrap_or(reports.len()));
        reports.retain(|report| !report.place.kernel.starts_with("mark_"));
        // The driver still prints assertions.
        reports.extend(printed::reports(printed).into_iter().filter(|report| report.kind == Some(Kind::Assert)));
        if broken > 0 {
            let message = format!("compute-sanitizer: {broken} reports were incomplete or mixed with other output");
            reports.push(Report::fact(message));
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
            return Outcome::Unsupported(report.message());
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
            let Some(kind) = report.checker() else { continue };
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

    /// The kinds of all that is wrong, each once.
    pub fn kinds(&self) -> Vec<Kind> {
        let is_there = |kind: &Kind| {
            let wrong = |report: &&Report| matches!(report.severity, Severity::Fault | Severity::Report);
            self.0.iter().filter(wrong).any(|report| report.kind == Some(*kind))
        };
        Kind::ALL.iter().copied().filter(is_there).collect()
    }

    /// The first thing that the simulator cannot do.
    pub fn unsupported(&self) -> Option<String> {
        self.of(Severity::Unsupported).next().map(Report::message)
    }

    /// The calls that were asked to fail: `cuMemAllocAsync returns CUDA_ERROR_OUT_OF_MEMORY`.
    pub fn injected(&self) -> impl Iterator<Item = String> {
        self.of(Severity::Injected).map(Report::message)
    }

    fn of(&self, severity: Severity) -> impl Iterator<Item = &Report> {
        self.0.iter().filter(move |report| report.severity == severity)
    }

    fn without_assertions(&self) -> Vec<&Report> {
        let wrong = |report: &&Report| matches!(report.severity, Severity::Fault | Severity::Report);
        self.0.iter().filter(wrong).filter(|report| report.kind != Some(Kind::Assert)).collect()
    }

    /// Which of the reports without assertions ended the case: one after which no program goes on, or else the last one.
    fn ending(&self) -> Option<usize> {
        let reports = self.without_assertions();
        reports.iter().position(|report| report.checker().is_none()).or(reports.len().checked_sub(1))
    }

    /// Place and message of the first failed assertion.
    fn assertion(&self) -> Option<(Place, String)> {
        self.0.iter().find_map(Report::assertion)
    }
}

impl Report {
    /// What a tool says of itself.
    fn fact(message: String) -> Self {
        let (place, lines) = (device_record::Place::default(), vec![message]);
        Self { severity: Severity::Fact, kind: None, place, assertion: None, lines }
    }

    /// The checker that found it.
    fn checker(&self) -> Option<Kind> {
        match self.kind? {
            // Its title is that of a barrier error.
            Kind::Deadlock => Some(Kind::Barrier),
            // What ends a kernel elsewhere ends nothing under a tool that goes on.
            kind => [kind.severity(), self.severity].contains(&Severity::Report).then_some(kind),
        }
    }

    /// The source line, or else the kernel.
    fn place(&self) -> Place {
        match &self.place.source {
            Some(Source { file, line }) => Place::line(crate_path(file), *line),
            None => Place::from(self.place.kernel.as_str()),
        }
    }

    /// All lines in one.
    fn message(&self) -> String {
        self.lines.join("; ")
    }

    fn text(&self) -> String {
        shortened(&self.message())
    }

    /// Place and message of a failed assertion, and what else is known.
    fn assertion(&self) -> Option<(Place, String)> {
        let (mut assertion, thread) = self.assertion.clone()?;
        assertion.source.file = kernel_path(&assertion.source.file);
        let details = self.lines[1..].iter().map(|line| shortened(line));
        let message = [assertion.line(thread)].into_iter().chain(details).collect::<Vec<_>>().join("; ");
        let Source { file, line } = assertion.source;
        Some((Place::line(file, line), message))
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
