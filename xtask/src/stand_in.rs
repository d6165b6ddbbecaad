//! `cargo xtask stand-in`: runs a command as on a machine with a GPU, of which only the hardware is missing.
//!
//! The system's CUDA driver is the simulated one: the suite takes its device for `cuda:0`. It behaves as a GPU, which checks nothing
//! and whose buffers share mapped memory. This tests the suite's own path on a GPU box. It says nothing about hardware.

use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, ensure};
use snuffer_toolkit::{COMPUTE_CAP, CUDA_VERSION, Toolkit, once};

use crate::set_up;
use crate::shell::{say, status, target};

const NVIDIA_SMI: &str = include_str!("../nvidia-smi.sh");

/// Runs `command` with its arguments, and returns its exit code.
pub fn run(command: &[OsString]) -> anyhow::Result<u8> {
    let Toolkit::Assembled(home) = set_up::toolkit()? else {
        say("this machine has a GPU and needs no stand-in: run the command itself");
        return Ok(5);
    };
    let driver = set_up::simulator()?;
    let folder = target()?.join("stand-in");
    once(&folder, NVIDIA_SMI, assemble)?;
    let path = env::var_os("PATH").unwrap_or_default();
    let path = [folder.join("bin"), home.join("bin")].into_iter().chain(env::split_paths(&path));
    let (program, args) = command.split_first().context("name the command to run")?;
    let mut command = Command::new(program);
    command.args(args).env("PATH", env::join_paths(path)?).env("LD_LIBRARY_PATH", driver).env("CUDA_HOME", &home);
    command.env("SNUFFER_SIM_HARDWARE", "1").env("CUDA_CACHE_PATH", target()?.join("stand-in-cache"));
    // As the set-up of a machine without a GPU has them: candle's kernels are built once for both.
    command.env("NVCC", home.join("bin/nvcc")).env("CUDA_COMPUTE_CAP", COMPUTE_CAP);
    command.env("CUDARC_CUDA_VERSION", CUDA_VERSION);
    let code = status(&mut command)?;
    say("this was a stand-in: it tested how the suite runs on a GPU machine, not real hardware");
    Ok(code)
}

/// Fills `folder` with what the suite looks for on a machine with a GPU.
fn assemble(folder: &Path) -> anyhow::Result<()> {
    let bin = folder.join("bin");
    fs::create_dir(&bin)?;
    // A tool of our own, which prints what the real one was recorded to print.
    symlink(fs::canonicalize("tests/sanitizer/compute-sanitizer")?, bin.join("compute-sanitizer"))?;
    let tool = bin.join("nvidia-smi");
    fs::write(&tool, NVIDIA_SMI)?;
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755))?;
    let listed = Command::new(&tool).arg("-L").output()?;
    ensure!(listed.status.success(), "{} does not run", tool.display());
    Ok(())
}
