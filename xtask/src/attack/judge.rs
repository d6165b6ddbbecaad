//! Runs a command, and says whether it survived: it ends in time with a documented exit code, it says in a few harmless words why
//! it failed, and it neither panics nor dies.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use wait_timeout::ChildExt;

/// The exit codes that docs/json.md and `--help` list: no findings, a mistake, findings, a lost device, a missed fault, a failure of
/// the harness, and an invalid call.
pub const DOCUMENTED: [i32; 7] = [0, 1, 2, 3, 4, 5, 6];
/// Exit codes that say on standard error why.
const WITH_REASON: [i32; 3] = [1, 3, 5];
/// Nobody reads a longer complaint.
const LONGEST: usize = 10_000;

/// A command that runs.
pub struct Running {
    pub child: Child,
    /// What it prints on standard output and standard error.
    printed: [File; 2],
    shown: String,
}

/// How a command ended. `None`: it had to be killed.
pub struct Ended {
    status: Option<ExitStatus>,
    pub stdout: String,
    pub stderr: String,
    shown: String,
}

/// Starts `command`, whose output goes to files: a pipe could fill up.
pub fn start(command: &mut Command) -> anyhow::Result<Running> {
    let shown = shown(command);
    let printed = [tempfile::tempfile()?, tempfile::tempfile()?];
    command.stdin(Stdio::null()).stdout(printed[0].try_clone()?).stderr(printed[1].try_clone()?);
    let child = command.spawn().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    Ok(Running { child, printed, shown })
}

/// The command, without what is too long to read.
fn shown(command: &Command) -> String {
    let all = std::iter::once(command.get_program()).chain(command.get_args());
    all.take(14).map(|arg| arg.to_string_lossy().chars().take(80).collect::<String>()).collect::<Vec<_>>().join(" ")
}

/// Runs `command` to its end.
pub fn run(command: &mut Command, deadline: Duration) -> anyhow::Result<Ended> {
    start(command)?.end(deadline)
}

impl Running {
    /// Waits for its end, and kills it if it is late.
    pub fn end(mut self, deadline: Duration) -> anyhow::Result<Ended> {
        let status = self.child.wait_timeout(deadline)?;
        if status.is_none() {
            self.child.kill()?;
            self.child.wait()?;
        }
        let mut texts = [String::new(), String::new()];
        for (file, text) in self.printed.iter_mut().zip(&mut texts) {
            let mut bytes = Vec::new();
            file.rewind()?;
            file.read_to_end(&mut bytes)?;
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
        let [stdout, stderr] = texts;
        Ok(Ended { status, stdout, stderr, shown: self.shown })
    }
}

impl Ended {
    /// The exit code, if it ended by itself.
    pub fn code(&self) -> Option<i32> {
        self.status?.code()
    }

    /// It survived, and ended with one of the codes in `allowed`.
    pub fn survived(self, allowed: &[i32]) -> anyhow::Result<Self> {
        let checked = self.lives(allowed).and_then(|()| self.is_harmless());
        checked.with_context(|| format!("`{}`", self.shown))?;
        Ok(self)
    }

    /// It ended in time, by itself and in a documented way.
    pub fn lives(&self, allowed: &[i32]) -> anyhow::Result<()> {
        let Some(status) = self.status else { bail!("did not end in time") };
        let lines = || self.stderr.lines().rev().chain(self.stdout.lines().rev());
        let last = || lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
        let Some(code) = status.code() else {
            bail!("signal {} ended it; it said: {}", status.signal().unwrap_or(0), last());
        };
        let panicked = self.stderr.contains("RUST_BACKTRACE") || self.stderr.contains("thread 'main' panicked");
        ensure!(code != 101 && !panicked, "panicked: {}", first_panic(&self.stderr));
        ensure!(allowed.contains(&code), "exit code {code}, not one of {allowed:?}; it said: {}", last());
        if WITH_REASON.contains(&code) {
            ensure!(!self.stderr.trim().is_empty(), "exit code {code} without a word");
            ensure!(self.stderr.len() < LONGEST, "complains in {} bytes", self.stderr.len());
        }
        Ok(())
    }

    /// It prints nothing that a terminal or CI obeys.
    fn is_harmless(&self) -> anyhow::Result<()> {
        for text in [&self.stdout, &self.stderr] {
            let obeyed = text.chars().find(|letter| letter.is_control() && !['\n', '\t'].contains(letter));
            ensure!(obeyed.is_none(), "prints the control character {obeyed:?}");
            ensure!(!text.lines().any(|line| line.trim_start().starts_with("::error")), "prints a command of CI");
        }
        Ok(())
    }
}

fn first_panic(stderr: &str) -> String {
    let mut lines = stderr.lines().skip_while(|line| !line.contains("panicked"));
    lines.by_ref().take(2).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(script: &str) -> Result<(), String> {
        let ended = run(Command::new("sh").args(["-c", script]), Duration::from_millis(500)).expect("sh runs");
        ended.survived(&DOCUMENTED).map(drop).map_err(|problem| format!("{problem:#}"))
    }

    #[test]
    fn what_ends_as_documented_survives() {
        for script in ["echo fine", "exit 2", "echo 'no such file' >&2; exit 1", "exit 6"] {
            assert_eq!(judged(script), Ok(()), "{script}");
        }
    }

    #[test]
    fn what_panics_dies_hangs_or_says_too_little_or_too_much_is_lost() {
        for (script, problem) in [
            ("echo \"thread 'main' panicked at a.rs:1\" >&2; exit 101", "panicked: thread 'main' panicked at a.rs:1"),
            ("echo \"thread 'a' panicked; RUST_BACKTRACE=1\" >&2; exit 0", "panicked"),
            ("kill -ABRT $$", "signal 6"),
            ("kill -SEGV $$", "signal 11"),
            ("exec sleep 60", "did not end in time"),
            ("exit 7", "exit code 7"),
            ("exit 5", "exit code 5 without a word"),
            ("head -c 20000 /dev/zero | tr '\\0' a >&2; exit 1", "complains in 20000 bytes"),
            ("printf 'a \\033[2J' >&2; exit 1", "control character"),
            ("echo ' ::error::red'", "a command of CI"),
        ] {
            let judged = judged(script);
            assert!(judged.as_ref().is_err_and(|shown| shown.contains(problem)), "{script}: {judged:?}");
        }
    }
}
