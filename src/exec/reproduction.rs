//! Builds a reproduction crate and runs it in a process of its own, as whoever gets the report will.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use wait_timeout::ChildExt;

use super::{Limits, environment};
use crate::device::Device;

/// What a program did.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Whether it ended before its deadline.
    pub ended: bool,
    /// Its exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// What it wrote.
    pub stdout: String,
    /// And complained of.
    pub stderr: String,
}

/// Builds the crate in `folder` with its dependencies in `target`, which reproductions share; the compiler's complaint as an
/// `Err`.
pub fn build(folder: &Path, target: &Path) -> anyhow::Result<()> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--manifest-path"]).arg(folder.join("Cargo.toml")).arg("--target-dir").arg(target);
    let built = cargo.output().context("cannot run cargo, which builds reproductions")?;
    ensure!(built.status.success(), "the reproduction does not compile:\n{}", String::from_utf8_lossy(&built.stderr));
    Ok(())
}

/// Where the program of the crate `name` is, once built.
pub fn executable(target: &Path, name: &str) -> PathBuf {
    target.join("debug").join(name)
}

/// Runs a program on the libraries that `device` has.
pub fn run(program: &Path, args: &[&str], device: Device, limits: Limits) -> anyhow::Result<Ran> {
    // A shell, as only it and `unsafe` code set limits.
    let mut shell = Command::new("sh");
    let memory = limits.memory_mib * 1024;
    shell.arg("-c").arg(format!("ulimit -v {memory}; exec \"$0\" \"$@\"")).arg(program).args(args);
    shell.env("RUST_BACKTRACE", "0").env_remove("RUST_LIB_BACKTRACE").stdin(Stdio::null());
    environment::simulate(&mut shell, device)?;
    let (stdout, stderr) = (tempfile::NamedTempFile::new()?, tempfile::NamedTempFile::new()?);
    let mut child = shell.stdout(stdout.reopen()?).stderr(stderr.reopen()?).spawn().context("cannot run a shell")?;
    let status = child.wait_timeout(limits.deadline)?;
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    let read = |file: tempfile::NamedTempFile| -> anyhow::Result<String> {
        Ok(String::from_utf8_lossy(&std::fs::read(file.path())?).into_owned())
    };
    Ok(Ran {
        ended: status.is_some(),
        code: status.and_then(|status| status.code()),
        stdout: read(stdout)?,
        stderr: read(stderr)?,
    })
}
