//! Builds a reproduction crate and runs it in its own process, as a reader of the report would.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use wait_timeout::ChildExt;

use super::{Limits, environment};
use crate::device::Device;

/// The result of running a program.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Whether it ended before its deadline.
    pub ended: bool,
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Builds the crate in `folder`. Reproductions share the target folder `target`. The compiler's errors become an `Err`.
pub fn build(folder: &Path, target: &Path) -> anyhow::Result<()> {
    let mut cargo = environment::cargo();
    cargo.args(["build", "--quiet", "--manifest-path"]).arg(folder.join("Cargo.toml")).arg("--target-dir").arg(target);
    let built = cargo.output().context("cannot run cargo, which builds reproductions")?;
    ensure!(built.status.success(), "the reproduction does not compile:\n{}", String::from_utf8_lossy(&built.stderr));
    Ok(())
}

/// The path of the built program of the crate `name`.
pub fn executable(target: &Path, name: &str) -> PathBuf {
    target.join("debug").join(name)
}

/// Runs a program with the libraries of `device`.
pub fn run(program: &Path, args: &[&str], device: Device, limits: Limits) -> anyhow::Result<Ran> {
    // Through a shell: otherwise only `unsafe` code could set the limit of memory.
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
