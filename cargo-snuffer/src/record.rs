//! What the simulated device writes down: reports, the launches of kernels, and the work of CUDA's libraries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

/// How grave a record is, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Ends a kernel or a call with an error, on hardware too.
    Fault,
    /// Is wrong and ends nothing.
    Report,
    /// The simulated device cannot do it.
    Unsupported,
    /// Is odd and may be meant.
    Fact,
    /// A call that `SNUFFER_SIM_FAIL` made fail.
    Injected,
}

/// A function of the program that was running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    pub function: String,
    pub file: Option<String>,
    pub line: Option<u32>,
}

impl Frame {
    /// Whether it is of the user's own code, not of a dependency, of Rust or of the C library.
    fn is_own(&self) -> bool {
        let is_elsewhere = |file: &str| {
            ["/registry/src/", "/git/checkouts/", "/rustc/", "/rustlib/", "/nptl/", "/sysdeps/"]
                .iter()
                .any(|part| file.contains(part))
        };
        self.file.as_deref().is_some_and(|file| !is_elsewhere(file))
    }

    /// `FILE:LINE`, if it is known.
    pub fn place(&self) -> Option<String> {
        Some(format!("{}:{}", self.file.as_ref()?, self.line?))
    }
}

/// A report of the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub severity: Severity,
    /// `assert`, `race`, `out of bounds` …
    pub kind: String,
    /// The kernel, or the function of CUDA that was called.
    pub kernel: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    /// Its lines, joined by `; `.
    pub message: String,
    /// The calls that led to it, the innermost first.
    #[serde(default)]
    pub host: Vec<Frame>,
}

impl Record {
    /// What happened, without where in which thread.
    pub fn headline(&self) -> &str {
        self.message.split("; ").next().unwrap_or_default()
    }

    /// The calls in the user's own code, the innermost first, without the closures that a call is wrapped in.
    pub fn own_frames(&self) -> impl Iterator<Item = &Frame> {
        let mut own: Vec<&Frame> = self.host.iter().filter(|frame| frame.is_own()).collect();
        own.dedup_by(|outer, inner| outer.function.strip_prefix(&inner.function) == Some("::{{closure}}"));
        own.into_iter()
    }

    /// The innermost of these.
    pub fn own_frame(&self) -> Option<&Frame> {
        self.own_frames().next()
    }

    /// The call that the user's own code made.
    pub fn called(&self) -> Option<&Frame> {
        let own = self.host.iter().position(Frame::is_own)?;
        self.host[..own].last()
    }
}

/// What the device did for a process.
pub struct Seen {
    /// How often each kernel was launched.
    pub launches: BTreeMap<String, u64>,
    /// How often each function of a library, such as cuBLAS, worked on the device.
    pub library_calls: BTreeMap<String, u64>,
    pub records: Vec<Record>,
}

/// The files that the device writes of a process.
pub struct Files {
    reports: PathBuf,
    trace: PathBuf,
}

impl Files {
    /// Files in `folder` whose names begin with `prefix`.
    pub fn new(folder: &Path, prefix: &str) -> Self {
        let file = |name: &str| folder.join(format!("{prefix}{name}"));
        Self { reports: file("reports"), trace: file("trace") }
    }

    /// Tells the device in `command` to write them.
    pub fn name(&self, command: &mut Command) {
        command.env("SNUFFER_SIM_REPORTS", &self.reports).env("SNUFFER_SIM_TRACE", &self.trace);
        command.env("SNUFFER_SIM_BACKTRACE", "1");
    }

    /// Reads them. Skips lines that are cut off; a missing file counts as empty.
    pub fn read(&self) -> Seen {
        let text = |file: &Path| std::fs::read_to_string(file).unwrap_or_default();
        let (mut launches, mut library_calls) = (BTreeMap::new(), BTreeMap::new());
        for line in text(&self.trace).lines() {
            let (counts, name) = match line.split_once('\t') {
                Some(("launch", kernel)) => (&mut launches, kernel),
                Some(("library", function)) => (&mut library_calls, function),
                _ => continue,
            };
            *counts.entry(name.to_string()).or_default() += 1;
        }
        let records = text(&self.reports).lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Seen { launches, library_calls, records }
    }
}
