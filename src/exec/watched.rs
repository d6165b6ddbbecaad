//! Runs a program of anybody's to its end, and returns what the device reported.

use std::io::{Read, Seek};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use wait_timeout::ChildExt;

use super::diagnosis::Reports;
use super::environment;
use super::sanitizer::{Sanitizer, Unusable};
use crate::device::Device;

/// What a program did.
#[derive(Debug)]
pub struct Watched {
    /// What the device reported.
    pub reports: Reports,
    /// Its exit code: `None` if a signal ended it, or the time limit.
    pub code: Option<i32>,
    /// True if it reached the time limit.
    pub timed_out: bool,
    /// How long it took.
    pub took: Duration,
    /// The last line that it printed.
    pub last_line: String,
}

/// No kernel of a program has this name, so all reports count.
const NO_MARK: &str = "";

/// The most that is read of what a program prints.
const MOST: u64 = 4 << 20;

/// A program, its arguments, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// The path of the program.
    pub path: &'a Path,
    /// Its arguments.
    pub arguments: &'a [String],
    /// After so long it is ended.
    pub limit: Duration,
}

impl Program<'_> {
    fn command(self) -> Command {
        let mut command = Command::new(self.path);
        command.args(self.arguments);
        command
    }

    /// The command that runs it on the simulated device, where `variables` say how that behaves.
    pub fn simulated(self, variables: &[(&str, &str)]) -> anyhow::Result<Command> {
        let mut command = self.command();
        environment::simulate(&mut command, Device::Sim(0))?;
        command.envs(variables.iter().copied());
        Ok(command)
    }

    /// Runs it on the simulated device.
    pub fn on_the_simulated_device(self, variables: &[(&str, &str)]) -> anyhow::Result<Watched> {
        let records = tempfile::NamedTempFile::new().context("cannot make a file")?;
        let mut command = self.simulated(variables)?;
        command.env("SNUFFER_SIM_REPORTS", records.path());
        let (watched, _) = watch(&mut command, self.limit)?;
        let mut text = String::new();
        records.reopen()?.take(MOST).read_to_string(&mut text)?;
        Ok(Watched { reports: Reports::from_records(&text), ..watched })
    }

    /// Runs it on a GPU under a tool of `compute-sanitizer`.
    pub fn under(self, tool: Sanitizer) -> anyhow::Result<Result<Watched, Unusable>> {
        let mut command = match tool.start(&self.command()) {
            Ok(command) => command,
            Err(unusable) => return Ok(Err(unusable)),
        };
        let (watched, printed) = watch(&mut command, self.limit * Sanitizer::SLOWDOWN)?;
        let (reports, _) = Reports::from_sanitizer(&printed, NO_MARK);
        Ok(Ok(Watched { reports, ..watched }))
    }
}

/// Runs `command`, and returns what it did without reports, and what it printed.
fn watch(command: &mut Command, limit: Duration) -> anyhow::Result<(Watched, String)> {
    let mut printed = tempfile::tempfile().context("cannot make a file")?;
    command.stdin(Stdio::null()).stdout(printed.try_clone()?).stderr(printed.try_clone()?);
    let begun = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let status = child.wait_timeout(limit)?;
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    let took = begun.elapsed();
    printed.rewind()?;
    let mut bytes = Vec::new();
    printed.take(MOST).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let last_line = text.lines().last().unwrap_or_default().to_string();
    let reports = Reports::from_records("");
    let code = status.and_then(|status| status.code());
    Ok((Watched { reports, code, timed_out: status.is_none(), took, last_line }, text))
}
