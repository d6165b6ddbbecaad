//! Which executable serves a device, and in what environment. Decided here alone.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::Limits;
use crate::device::Device;

/// Which build of candle a worker has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// Optimized, with debug assertions and overflow checks: what hunts run on.
    Checked,
    /// As users ship it: an overflow wraps silently. Findings are run on it too.
    Unchecked,
}

/// A worker's executable: its name, the variable that overrides where it is, and how it is made.
struct Executable {
    name: &'static str,
    variable: &'static str,
    how: &'static str,
}

fn of(device: Device, build: Build) -> Executable {
    match (device, build) {
        (Device::Cpu, Build::Checked) => {
            Executable { name: "snuffer-worker", variable: "SNUFFER_WORKER", how: "cargo build" }
        }
        (Device::Cpu, Build::Unchecked) => Executable {
            name: "snuffer-worker",
            variable: "SNUFFER_WORKER_UNCHECKED",
            how: "cargo build --release --bin snuffer-worker",
        },
        (Device::Cuda(_) | Device::Sim(_), Build::Checked) => {
            Executable { name: "snuffer-worker-cuda", variable: "SNUFFER_WORKER_CUDA", how: "cargo xtask build" }
        }
        (Device::Cuda(_) | Device::Sim(_), Build::Unchecked) => Executable {
            name: "snuffer-worker-cuda",
            variable: "SNUFFER_WORKER_CUDA_UNCHECKED",
            how: "cargo xtask build --release",
        },
    }
}

/// The command that starts a worker of `build` for `device`.
pub fn command(device: Device, build: Build) -> anyhow::Result<Command> {
    let mut command = Command::new(executable(device, build)?);
    // One thread per worker: cases are small, workers are many, and a sum's order must not depend on the machine.
    // Without it candle forgets the graph of a backward pass, and there are no second derivatives.
    command.env("CANDLE_GRAD_DO_NOT_DETACH", "1");
    command.env("RAYON_NUM_THREADS", "1").env("RUST_BACKTRACE", "0").env_remove("RUST_LIB_BACKTRACE");
    simulate(&mut command, device)?;
    Ok(command)
}

/// Gives `command` the simulated device's libraries, where `device` is one.
pub fn simulate(command: &mut Command, device: Device) -> anyhow::Result<()> {
    if let Device::Sim(ordinal) = device {
        command.env("LD_LIBRARY_PATH", libraries()?);
        if std::env::var_os("SNUFFER_SIM_DEVICES").is_none() {
            // The one after it is there too, for cases of two devices; one that nobody opens costs nothing.
            command.env("SNUFFER_SIM_DEVICES", ordinal.saturating_add(2).min(SIMULATED).to_string());
        }
    }
    Ok(())
}

/// The most devices that the simulated driver has.
const SIMULATED: u8 = 8;

/// A variable of a worker's environment, and what it holds.
pub type Variable = (&'static str, OsString);

/// The variable that asks a simulated device to fail a call.
const FAIL: &str = "SNUFFER_SIM_FAIL";

/// Whether calls of `device` are asked to fail.
pub fn is_failing(device: Device, limits: Limits) -> bool {
    matches!(device, Device::Sim(_)) && !limits.sound && std::env::var_os(FAIL).is_some()
}

/// Tells the device of what `command` starts how to behave.
pub fn behave(command: &mut Command, device: Device, limits: Limits) {
    if limits.sound {
        command.env_remove(FAIL).env_remove("SNUFFER_SIM_CHECKS");
    }
    match device {
        Device::Sim(_) => {
            if limits.immediate {
                command.env("SNUFFER_SIM_DELIVERY", "immediate");
            }
            if limits.exact_views {
                command.env("SNUFFER_EXACT_VIEWS", "1");
            }
            command.envs(limits.jitter.map(|seed| ("SNUFFER_SIM_JITTER", seed.to_string())));
        }
        Device::Cuda(_) if limits.immediate => {
            command.env("CUDA_LAUNCH_BLOCKING", "1");
        }
        Device::Cuda(_) | Device::Cpu => {}
    }
}

/// The variable that asks a simulated device to change an instruction of a kernel.
pub const MUTATE: &str = "SNUFFER_SIM_MUTATE";

/// The variable that names the file in which a simulated device tells of launches.
pub const TRACE: &str = "SNUFFER_SIM_TRACE";

/// The variable that names the file in which a simulated device records its reports.
pub const REPORTS: &str = "SNUFFER_SIM_REPORTS";

/// The devices to use where none is asked for: `cpu`, and the GPU or else the simulated device, where its worker is built.
pub fn default_devices() -> Vec<Device> {
    let gpu = Path::new("/dev/nvidia0").exists();
    let other = if gpu { Device::Cuda(0) } else { Device::Sim(0) };
    let ready = command(other, Build::Checked).is_ok();
    std::iter::once(Device::Cpu).chain(ready.then_some(other)).collect()
}

/// The worker's executable: where its variable says, else beside this one; an unchecked one in Cargo's `release`.
pub fn executable(device: Device, build: Build) -> anyhow::Result<PathBuf> {
    let Executable { name, variable, how } = of(device, build);
    if let Some(path) = named(variable, Path::is_file)? {
        return Ok(path);
    }
    let places: Vec<PathBuf> = match build {
        Build::Checked => folders()?.iter().map(|folder| folder.join(name)).collect(),
        Build::Unchecked => beside("release")?.iter().map(|folder| folder.join(name)).collect(),
    };
    match places.iter().find(|place| place.is_file()) {
        Some(place) => Ok(place.clone()),
        None => bail!("{name} is not at {}; build it with `{how}`, or name it in {variable}", places[0].display()),
    }
}

/// The folder of the simulated device's `libcuda.so.1` and its companions.
fn libraries() -> anyhow::Result<PathBuf> {
    let has_driver = |folder: &Path| folder.join("libcuda.so.1").exists();
    if let Some(folder) = named("SNUFFER_SIM_LIBRARY", has_driver)? {
        return Ok(folder);
    }
    let places = beside("simulator/lib")?;
    match places.iter().find(|place| has_driver(place)) {
        Some(place) => Ok(place.clone()),
        None => bail!(
            "no libcuda.so.1 in {}; build it with `cargo xtask build`, or name its folder in SNUFFER_SIM_LIBRARY",
            places[0].display()
        ),
    }
}

/// The path that `variable` names, which must be `right`.
fn named(variable: &str, right: impl Fn(&Path) -> bool) -> anyhow::Result<Option<PathBuf>> {
    let Some(path) = std::env::var_os(variable).map(PathBuf::from) else { return Ok(None) };
    if !right(&path) {
        bail!("{variable} names {}, which is not there or not what it should be", path.display());
    }
    Ok(Some(path))
}

/// Where this executable is; a test binary lies one folder deeper than the others, in `deps`.
fn folders() -> anyhow::Result<Vec<PathBuf>> {
    let me = std::env::current_exe().context("cannot tell where this executable is")?;
    Ok(me.ancestors().skip(1).take(2).map(Path::to_path_buf).collect())
}

/// `path` in Cargo's target folder.
fn beside(path: &str) -> anyhow::Result<Vec<PathBuf>> {
    Ok(folders()?.iter().filter_map(|folder| folder.parent()).map(|target| target.join(path)).collect())
}
