//! Runs labelled programs, each in a process of its own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::label::Label;
use super::measured::{Judged, Measured};
use crate::exec::watched::{Program, Watched};
use crate::exec::{Sanitizer, pool};

/// How the simulated device runs a program: as `cargo snuffer` lets it, and with the checkers of what PTX allows or what changes nothing.
const CHECKED: [(&str, &str); 3] = [
    ("SNUFFER_SIM_CHECKS", "all,same-values,early-exits"),
    ("SNUFFER_SIM_ORDERS", "4"),
    ("SNUFFER_SIM_AFTER_FAULT", "continue"),
];

/// The same without the checkers that can be switched off.
const UNCHECKED: [(&str, &str); 2] = [("SNUFFER_SIM_CHECKS", "none"), ("SNUFFER_SIM_ORDERS", "1")];

/// The name of the simulated device as a detector.
const SIMULATED: &str = "sim";

/// What to measure, and how.
pub struct Measurement<'a> {
    /// The folder of the programs.
    pub folder: &'a Path,
    /// Their runs.
    pub labels: &'a [Label],
    /// How many of them run at once.
    pub jobs: usize,
    /// How long a run may take.
    pub limit: Duration,
    /// True if each run is also timed without checkers.
    pub costs: bool,
    /// Called with the program of each finished run.
    pub after_each: &'a (dyn Fn(&str) + Sync),
}

impl Measurement<'_> {
    /// Measures the simulated device.
    pub fn simulated(&self) -> anyhow::Result<Measured> {
        self.measure(SIMULATED, self.jobs, &|program| {
            let watched = program.on_the_simulated_device(&CHECKED)?;
            let unchecked = self.costs.then(|| program.on_the_simulated_device(&UNCHECKED)).transpose()?;
            let replay = in_a_shell(&program.simulated(&CHECKED)?);
            let unchecked_seconds = unchecked.map(|watched| watched.took.as_secs_f64());
            Ok(Judged { replay, unchecked_seconds, ..judged(&[watched]) })
        })
    }

    /// Measures the tools of `compute-sanitizer` together, on a GPU: one run at a time, under each tool.
    pub fn sanitized(&self) -> anyhow::Result<Measured> {
        self.measure("compute-sanitizer", 1, &|program| {
            let runs = Sanitizer::ALL.into_iter().map(|tool| Ok(program.under(tool)??));
            let runs = runs.collect::<anyhow::Result<Vec<_>>>()?;
            let words = std::iter::once(program.path.as_os_str()).chain(program.arguments.iter().map(OsStr::new));
            Ok(Judged { replay: format!("compute-sanitizer {}", joined(words)), ..judged(&runs) })
        })
    }

    fn measure(
        &self,
        detector: &'static str,
        jobs: usize,
        run: &(dyn Fn(Program) -> anyhow::Result<Judged> + Sync),
    ) -> anyhow::Result<Measured> {
        let next = AtomicU64::new(0);
        let claim = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < self.labels.len() as u64);
        let one = |(): &mut (), number| {
            let label = &self.labels[number as usize];
            // Without the `.` of `./program`.
            let path: PathBuf = self.folder.join(&label.command).components().collect();
            let program = Program { path: &path, arguments: &label.arguments, limit: self.limit };
            let judged = run(program)?;
            (self.after_each)(&label.command);
            Ok(Some((label.clone(), judged)))
        };
        let runs = pool::each(jobs, claim, || Ok(()), one, |()| Ok(()))?;
        Ok(Measured::of(detector, &runs))
    }
}

/// What the runs of one program under one or several tools say together.
fn judged(runs: &[Watched]) -> Judged {
    let kinds = runs.iter().flat_map(|watched| watched.reports.kinds());
    let reported = runs.iter().find_map(failure).map_or_else(|| Ok(kinds.collect()), Err);
    let seconds = runs.iter().map(|watched| watched.took.as_secs_f64()).sum();
    Judged { replay: String::new(), reported, seconds, unchecked_seconds: None }
}

/// The reason why a run proves nothing.
fn failure(watched: &Watched) -> Option<String> {
    if watched.timed_out {
        return Some(format!("not ended after {:.0} s", watched.took.as_secs_f64()));
    }
    if let Some(what) = watched.reports.unsupported() {
        return Some(what);
    }
    let ended = match watched.code {
        Some(0) => return None,
        Some(code) => format!("exit code {code}"),
        None => "ended by a signal".to_string(),
    };
    // A program may end with any code after a fault.
    watched.reports.kinds().is_empty().then(|| format!("{ended} without a report: {}", watched.last_line))
}

/// A command as a person can paste it, with the variables that it sets.
fn in_a_shell(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    // A shell knows an assignment by its name, which must not be quoted.
    let variables = variables.map(|(name, value)| format!("{}={} ", name.display(), joined([value])));
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    variables.collect::<String>() + &joined(words)
}

/// The words as a shell reads them.
fn joined(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect();
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}
