//! Which executable serves a device, and in what environment. Decided here alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::device::Device;

/// Which build of candle a worker has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// Optimized, with debug assertions and overflow checks: what hunts run on.
    Checked,
    /// As users ship it: an overflow wraps silently. Findings are run on it too.
    Unchecked,
}

impl Build {
    /// The variable that overrides where the executable is.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Checked => "SNUFFER_WORKER",
            Self::Unchecked => "SNUFFER_WORKER_UNCHECKED",
        }
    }
}

/// The command that starts a worker of `build` for `device`.
pub fn command(device: Device, build: Build) -> anyhow::Result<Command> {
    if device != Device::Cpu && !cfg!(feature = "cuda") {
        bail!("this build has no device `{device}`; only `cpu` is built in so far");
    }
    let mut command = Command::new(executable(build)?);
    // One thread per worker: cases are small, workers are many, and a sum's order must not depend on the machine.
    command.env("RAYON_NUM_THREADS", "1").env("RUST_BACKTRACE", "0").env_remove("RUST_LIB_BACKTRACE");
    Ok(command)
}

/// The worker's executable: where its variable says, else beside this one; the unchecked one in Cargo's `release`.
pub fn executable(build: Build) -> anyhow::Result<PathBuf> {
    if let Some(path) = std::env::var_os(build.variable()) {
        let path = PathBuf::from(path);
        if !path.is_file() {
            bail!("{} names {}, which is no file", build.variable(), path.display());
        }
        return Ok(path);
    }
    let me = std::env::current_exe().context("cannot tell where this executable is")?;
    // A test binary lies one folder deeper, in `deps`.
    let folders: Vec<&Path> = me.ancestors().skip(1).take(2).collect();
    let places: Vec<PathBuf> = match build {
        Build::Checked => folders.iter().map(|folder| folder.join(NAME)).collect(),
        Build::Unchecked => folders
            .iter()
            .filter_map(|folder| folder.parent())
            .map(|target| target.join("release").join(NAME))
            .collect(),
    };
    match places.iter().find(|place| place.is_file()) {
        Some(place) => Ok(place.clone()),
        None => {
            let how = match build {
                Build::Checked => "cargo build",
                Build::Unchecked => "cargo build --release --bin snuffer-worker",
            };
            bail!("{NAME} is not at {}; build it with `{how}`, or name it in {}", places[0].display(), build.variable())
        }
    }
}

const NAME: &str = "snuffer-worker";
