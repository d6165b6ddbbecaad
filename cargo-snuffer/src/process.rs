//! One process on the simulated device: a test or a program.

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use wait_timeout::ChildExt;

use crate::record::{Files, Seen};
use crate::test_result::{Outcome, TestResult};

/// How a process is watched.
pub struct Watch {
    /// The package and the target.
    pub binary: String,
    /// The test that runs in it.
    pub test: Option<String>,
    /// Whether its output is kept instead of shown.
    pub keeps_output: bool,
    /// When it is killed.
    pub timeout: Option<Duration>,
}

impl Watch {
    /// Runs `command` to its end or the timeout, and reads what the device wrote. Returns also its status, unless it was killed.
    pub fn run(self, command: &mut Command) -> anyhow::Result<(TestResult, Option<ExitStatus>)> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let (files, output) = (Files::new(folder.path(), ""), folder.path().join("output"));
        files.name(command);
        if self.keeps_output {
            let file = File::create(&output)?;
            command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        }
        let begun = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot run {}", command.get_program().display()))?;
        let status = match self.timeout {
            Some(timeout) => child.wait_timeout(timeout)?,
            None => Some(child.wait()?),
        };
        if status.is_none() {
            child.kill()?;
            child.wait()?;
        }
        let outcome = match status {
            None => Outcome::TimedOut,
            Some(status) if status.success() => Outcome::Passed,
            Some(status) => Outcome::Failed(status.to_string()),
        };
        let (seconds, output) = (begun.elapsed().as_secs_f64(), text(&output));
        let Seen { launches, library_calls, known, records } = files.read();
        let result = TestResult::new(&self.binary, self.test.as_deref());
        Ok((TestResult { outcome, seconds, launches, library_calls, known, records, output, ..result }, status))
    }
}

/// The text in a file, as far as it is text.
fn text(file: &Path) -> String {
    std::fs::read(file).map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}
