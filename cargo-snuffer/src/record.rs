//! What the simulated device writes down: reports, the launches of kernels, and the work of CUDA's libraries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use device_record::{Frame, Record};

use crate::known_bugs;

/// The user's own code among the calls that led to a record.
pub trait Calls {
    /// The calls in the user's own code, the innermost first, without the closures that a call is wrapped in.
    fn own_frames(&self) -> impl Iterator<Item = &Frame>;

    /// The innermost of these.
    fn own_frame(&self) -> Option<&Frame> {
        self.own_frames().next()
    }

    /// The call that the user's own code made.
    fn called(&self) -> Option<&Frame>;
}

impl Calls for Record {
    fn own_frames(&self) -> impl Iterator<Item = &Frame> {
        let mut own: Vec<&Frame> = self.host.iter().filter(|frame| is_own(frame)).collect();
        own.dedup_by(|outer, inner| outer.function.strip_prefix(&inner.function) == Some("::{{closure}}"));
        own.into_iter()
    }

    fn called(&self) -> Option<&Frame> {
        let own = self.host.iter().position(is_own)?;
        self.host[..own].last()
    }
}

/// True if a call is in the user's own code, not in a dependency, the standard library or the C library.
fn is_own(frame: &Frame) -> bool {
    let is_elsewhere = |file: &str| {
        ["/registry/src/", "/git/checkouts/", "/rustc/", "/rustlib/", "/nptl/", "/sysdeps/"]
            .iter()
            .any(|part| file.contains(part))
    };
    frame.file.as_deref().is_some_and(|file| !is_elsewhere(file))
}

/// What the device did for a process.
pub struct Seen {
    /// How often each kernel was launched.
    pub launches: BTreeMap<String, u64>,
    /// How often each function of a library, such as cuBLAS, worked on the device.
    pub library_calls: BTreeMap<String, u64>,
    /// The names of candle's known bugs in functions that led to a launch.
    pub known: BTreeSet<String>,
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
        let (mut launches, mut library_calls, mut known) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let count = |counts: &mut BTreeMap<String, u64>, name: &str| *counts.entry(name.to_string()).or_default() += 1;
        for line in text(&self.trace).lines() {
            match line.split('\t').collect::<Vec<_>>()[..] {
                ["launch", kernel] => count(&mut launches, kernel),
                ["library", function] => count(&mut library_calls, function),
                ["call", kernel, file, function] => known.extend(known_bugs::met(kernel, file, function)),
                _ => {}
            }
        }
        let records = text(&self.reports).lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Seen { launches, library_calls, known, records }
    }
}
