//! Which executable serves a device, and in what environment. The only place that decides this.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use rustix::process::{Signal, set_parent_process_death_signal};

use super::named_path::{Missing, path_from};
use super::{Build, CandleUnderTest, DeviceBehaviour, WorkerSpec, gpu};
use crate::device::Device;

/// The command that builds the worker with the mutants of the host code, for all devices, and lists these.
pub const BUILD_MUTATED: &str = "cargo xtask host-mutants";

/// The Cargo that builds something for this process, and ends with it: minutes of work are of no use to anybody then.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    #[allow(unsafe_code, reason = "what runs between fork and exec must be safe there")]
    // SAFETY: it is one system call.
    unsafe {
        cargo.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?));
    }
    cargo
}

/// A worker's executable: its name, the variable that overrides its path, and the command that builds it.
struct Executable {
    name: &'static str,
    variable: &'static str,
    build_command: &'static str,
}

fn executable_for(device: Device, build: Build) -> Executable {
    let (name, variable, build_command) = match (device, build) {
        (_, Build::Mutated) => ("snuffer-worker-mutated", "SNUFFER_WORKER_MUTATED", BUILD_MUTATED),
        (Device::Cpu, Build::Checked) => ("snuffer-worker", "SNUFFER_WORKER", "cargo build"),
        (Device::Cpu, Build::Unchecked) => {
            ("snuffer-worker-unchecked", "SNUFFER_WORKER_UNCHECKED", "cargo xtask build --cpu")
        }
        (Device::Cuda(_) | Device::Sim(_), Build::Checked) => {
            ("snuffer-worker-cuda", "SNUFFER_WORKER_CUDA", "cargo xtask build")
        }
        (Device::Cuda(_) | Device::Sim(_), Build::Unchecked) => {
            ("snuffer-worker-cuda-unchecked", "SNUFFER_WORKER_CUDA_UNCHECKED", "cargo xtask build")
        }
    };
    Executable { name, variable, build_command }
}

/// The command that builds the worker of `build` for `device`.
pub fn build_command(device: Device, build: Build) -> &'static str {
    executable_for(device, build).build_command
}

/// The command that starts a worker of `build` for `device`.
pub fn command(device: Device, build: Build) -> anyhow::Result<Command> {
    command_of(device, build, None)
}

/// The command that starts a worker of `build` for `device`, with another candle if one is named.
pub fn command_of(device: Device, build: Build, candle: Option<&CandleUnderTest>) -> anyhow::Result<Command> {
    let executable = match candle.and_then(|candle| Some((candle, candle.workers.as_ref()?))) {
        None => executable(device, build)?,
        Some(_) if capability(device).is_some() => {
            bail!("workers of another candle are built for compute capability 9.0 only; unset SNUFFER_SIM_CAPABILITY")
        }
        Some((_, workers)) if build == Build::Checked => workers.join(name(device)),
        Some((candle, _)) => bail!("{candle} is only built with overflow checks"),
    };
    let mut command = Command::new(executable);
    set_candle(&mut command);
    simulate(&mut command, device)?;
    if (device, build) == (Device::Cpu, Build::Mutated)
        && let Ok(libraries) = libraries()
    {
        // One worker serves all devices. It is linked with a driver, and any will do.
        command.env("LD_LIBRARY_PATH", libraries);
    }
    Ok(command)
}

/// Sets the environment variables that candle reads in any worker.
pub fn set_candle(command: &mut Command) {
    // Otherwise candle drops the graph of a backward pass, and second derivatives are impossible.
    command.env("CANDLE_GRAD_DO_NOT_DETACH", "1");
    // One thread per worker: cases are small, there are many workers, and the order of a sum must not depend on the machine.
    command.env("RAYON_NUM_THREADS", "1").env("RUST_BACKTRACE", "0").env_remove("RUST_LIB_BACKTRACE");
    // With the fixes, candle then checks ids before it launches a kernel that would assert. As released, it knows no such variable.
    command.env("CANDLE_CUDA_CHECK_IDS", "1");
}

/// Gives `command` the simulated device's libraries if `device` is simulated.
pub fn simulate(command: &mut Command, device: Device) -> anyhow::Result<()> {
    if let Device::Sim(ordinal) = device {
        command.env("LD_LIBRARY_PATH", libraries()?);
        // That is the user's choice among GPUs, and how a stand-in for one behaves.
        command.env_remove("CUDA_VISIBLE_DEVICES").env_remove("SNUFFER_SIM_HARDWARE");
        if std::env::var_os("SNUFFER_SIM_DEVICES").is_none() {
            // One more device, for cases that use two. A device that is never opened costs nothing.
            command.env("SNUFFER_SIM_DEVICES", ordinal.saturating_add(2).min(MAX_SIMULATED).to_string());
        }
    }
    Ok(())
}

/// The largest number of devices of the simulated driver.
const MAX_SIMULATED: u8 = 8;

/// The variable that makes a simulated device fail a call.
const FAIL: &str = "SNUFFER_SIM_FAIL";

/// Whether failures are injected into calls of `device`.
pub fn has_injected_failures(device: Device, behaviour: DeviceBehaviour) -> bool {
    matches!(device, Device::Sim(_)) && !behaviour.ignore_overrides && std::env::var_os(FAIL).is_some()
}

/// Sets the environment variables in `command` that make `device` load and do what `spec` says.
pub fn set_behaviour(command: &mut Command, device: Device, spec: &WorkerSpec) {
    let WorkerSpec { behaviour, variables, .. } = spec;
    if behaviour.ignore_overrides {
        command.env_remove(FAIL).env_remove(CHECKS);
    }
    match device {
        Device::Sim(_) => {
            if behaviour.immediate_errors {
                command.env("SNUFFER_SIM_DELIVERY", "immediate");
            }
            if spec.only_costs {
                command.env(CHECKS, "none");
            }
            command.envs(behaviour.jitter.map(|seed| (JITTER, seed.to_string())));
            // Nothing else may choose kernels: findings say which they are of.
            let kernels = spec.replaced_kernels().map(|edited| (KERNELS, &edited.compiled));
            command.env_remove(KERNELS).envs(kernels);
        }
        Device::Cuda(_) if behaviour.immediate_errors => {
            command.env("CUDA_LAUNCH_BLOCKING", "1");
        }
        Device::Cuda(_) | Device::Cpu => {}
    }
    command.envs(variables.iter().map(|(name, value)| (name, value)));
}

/// The variable that names the folder of PTX that simulated devices load in place of candle's own.
const KERNELS: &str = "SNUFFER_SIM_KERNELS";

/// The variable that makes a simulated device change an instruction of a kernel.
pub const MUTATE: &str = "SNUFFER_SIM_MUTATE";

/// The variable with the number of the mutant of the host code that a worker switches on.
pub const HOST_MUTANT: &str = "SNUFFER_HOST_MUTANT";

/// The variable that names the file in which a worker marks the mutants of the host code whose places it reached.
pub const HOST_REACHED: &str = "SNUFFER_HOST_REACHED";

/// The list of mutants of the host code.
pub fn host_mutants() -> anyhow::Result<PathBuf> {
    let candidates = in_target("host-mutants/mutants.json")?;
    match candidates.iter().find(|path| path.is_file()) {
        Some(path) => Ok(path.clone()),
        None => bail!("{} is missing; build it with `{BUILD_MUTATED}`", candidates[0].display()),
    }
}

/// The variable with the seed by which a simulated device decides what the ISA leaves open; with `..` after it, another for
/// each launch.
pub const JITTER: &str = "SNUFFER_SIM_JITTER";

/// The variable that names the checkers of simulated devices.
pub const CHECKS: &str = "SNUFFER_SIM_CHECKS";

/// The variable that names the file in which a simulated device records launches.
pub const TRACE: &str = "SNUFFER_SIM_TRACE";

/// The variable that names the file in which simulated devices say how long they worked.
pub const DEVICE_TIME: &str = "SNUFFER_SIM_TIME";

/// The variable that names the file in which a simulated device, or the fence on the CPU, records its reports.
pub const REPORTS: &str = "SNUFFER_SIM_REPORTS";

/// Whether this machine has a GPU.
pub fn has_gpu() -> bool {
    gpu::is_there()
}

/// The path of the worker's executable: the value of its variable, or else next to this executable.
pub fn executable(device: Device, build: Build) -> anyhow::Result<PathBuf> {
    let Executable { name, variable, build_command } = executable_for(device, build);
    if let Some(path) = path_from(variable, Path::is_file)? {
        return Ok(path);
    }
    let candidates = match capability(device) {
        Some(capability) => in_target(&format!("capability/{capability}/debug/{name}"))?,
        None => folders()?.iter().map(|folder| folder.join(name)).collect(),
    };
    let build_command = match capability(device) {
        Some(capability) => format!("cargo xtask build --capability {capability}"),
        None => build_command.to_string(),
    };
    match candidates.iter().find(|path| path.is_file()) {
        Some(path) => Ok(path.clone()),
        None => {
            let place = candidates[0].display();
            let how = format!("build it with `{build_command}`, or set {variable} to its path");
            Err(Missing(format!("{name} is not at {place}; {how}")).into())
        }
    }
}

/// The compute capability that a user chose for the simulated device, if it needs a worker of its own: kernels run on the
/// capability that they were compiled for, and on later ones.
fn capability(device: Device) -> Option<String> {
    let chosen = std::env::var("SNUFFER_SIM_CAPABILITY").ok().filter(|_| matches!(device, Device::Sim(_)))?;
    let (major, minor) = chosen.split_once('.')?;
    let number = (major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?);
    (number < COMPILED_FOR).then_some(chosen)
}

/// The compute capability that `cargo xtask build` compiles for by default (`toolkit.rs`).
const COMPILED_FOR: (u32, u32) = (9, 0);

/// The architecture that nvcc compiled the kernels of `device`'s worker for. From 9.0 on it is the one with all features.
pub fn architecture(device: Device) -> String {
    let usual = || format!("{}{}a", COMPILED_FOR.0, COMPILED_FOR.1);
    capability(device).map_or_else(usual, |capability| capability.replace('.', ""))
}

/// The `nvcc` that compiles kernels for simulated devices: the one that `cargo xtask build` fetched, or else that of a toolkit.
pub fn nvcc() -> anyhow::Result<PathBuf> {
    if let Some(path) = path_from("NVCC", Path::is_file)? {
        return Ok(path);
    }
    let homes = in_target("cuda/home")?.into_iter().chain(std::env::var_os("CUDA_HOME").map(PathBuf::from));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = homes.map(|home| home.join("bin")).chain(std::env::split_paths(&path));
    let mut places = folders.chain(["/usr/local/cuda/bin".into()]).map(|folder| folder.join("nvcc"));
    places
        .find(|path| path.is_file())
        .context("there is no nvcc; `cargo xtask build` fetches it, or set NVCC to its path")
}

/// Cargo's target folder.
pub fn target() -> anyhow::Result<PathBuf> {
    made_in("")
}

/// The name of the worker for `device`, wherever it lies.
pub fn name(device: Device) -> &'static str {
    executable_for(device, Build::Checked).name
}

/// A folder of this name in Cargo's target folder, for what is made from other sources of candle.
pub fn made_in(name: &str) -> anyhow::Result<PathBuf> {
    in_target(name)?.into_iter().next().context("this executable is in no folder")
}

/// The folder of the simulated device's `libcuda.so.1` and its companions.
fn libraries() -> anyhow::Result<PathBuf> {
    let has_driver = |folder: &Path| folder.join("libcuda.so.1").exists();
    if let Some(folder) = path_from("SNUFFER_SIM_LIBRARY", has_driver)? {
        return Ok(folder);
    }
    let candidates = in_target("simulator/lib")?;
    match candidates.iter().find(|path| has_driver(path)) {
        Some(path) => Ok(path.clone()),
        None => {
            let how = "build it with `cargo xtask build`, or set SNUFFER_SIM_LIBRARY to its folder";
            Err(Missing(format!("no libcuda.so.1 in {}; {how}", candidates[0].display())).into())
        }
    }
}

/// The folder of this executable and its parent: a test binary is one folder deeper than the others, in `deps`.
fn folders() -> anyhow::Result<Vec<PathBuf>> {
    let own = std::env::current_exe().context("cannot find the path of this executable")?;
    Ok(own.ancestors().skip(1).take(2).map(Path::to_path_buf).collect())
}

/// `path` in Cargo's target folder: the places where it may be.
fn in_target(path: &str) -> anyhow::Result<Vec<PathBuf>> {
    Ok(folders()?.iter().filter_map(|folder| folder.parent()).map(|target| target.join(path)).collect())
}
