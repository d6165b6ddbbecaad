//! Builds what hunts and tests need, one step at a time: `snuffer`, its workers, the toolkit, the simulated device.

use std::fs::File;
use std::io::PipeReader;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};
use snuffer_toolkit::{Toolkit, build_driver, install_driver, succeeds, there_is_one};

use crate::capability::Capability;
use crate::shell::{cargo, say, status, target};

/// How long each step takes when there is nothing to do.
const SECOND_TIME: &str = "else a second";
const TWO_MINUTES: &str = "two minutes on a new machine";

/// The devices to set up.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Devices {
    /// Only set up `cpu`: no CUDA device, no download.
    #[arg(long)]
    cpu: bool,
}

impl Devices {
    /// All that this machine can have.
    pub const ALL: Self = Self { cpu: false };

    /// Keeps `command` from CUDA devices that an earlier set-up left.
    pub fn limit(self, command: &mut Command) -> &mut Command {
        if self.cpu {
            command.env("SNUFFER_DEVICES", "cpu").env("SNUFFER_TEST_WITHOUT", "sim:0,cuda:0")
        } else {
            command
        }
    }

    /// Whether a CUDA device, real or simulated, can be set up.
    pub fn can_have_cuda(self) -> bool {
        !self.cpu && there_is_one()
    }

    /// Whether fuzzers run on the simulated device: on machines without a GPU on which NVIDIA's compiler runs.
    pub fn can_be_simulated(self) -> bool {
        !self.cpu && there_is_one() && Toolkit::installed().is_none()
    }
}

/// What is set up.
pub struct Ready {
    /// The devices that are there and those that are not, in words.
    pub devices: &'static str,
    /// The toolkit of the CUDA device, if there is one.
    pub toolkit: Option<Toolkit>,
}

/// Builds everything that hunts and tests use.
pub fn everything(devices: Devices) -> anyhow::Result<Ready> {
    snuffer()?;
    rest(devices)
}

/// Builds everything, also the worker that only shows what findings on CUDA devices do without checks.
pub fn with_unchecked_cuda(devices: Devices) -> anyhow::Result<Ready> {
    let ready = everything(devices)?;
    if let Some(toolkit) = &ready.toolkit {
        unchecked_cuda(toolkit)?;
    }
    Ok(ready)
}

/// Builds `snuffer` and its worker for the CPU: enough to begin a hunt.
pub fn snuffer() -> anyhow::Result<()> {
    build("snuffer and its worker for the CPU", "minutes on a new machine", cargo().args(["build", "--locked"]))
}

/// Builds the other workers and the simulated device.
pub fn rest(devices: Devices) -> anyhow::Result<Ready> {
    build("the worker without overflow checks", TWO_MINUTES, &mut unchecked("snuffer-worker-unchecked", "unchecked"))?;
    if devices.cpu {
        return Ok(Ready { devices: "cpu; without sim:0 and cuda:0, because of --cpu", toolkit: None });
    }
    if !there_is_one() {
        let devices = "cpu; without cuda:0, and without sim:0, which needs NVIDIA's compiler (x86-64 Linux)";
        return Ok(Ready { devices, toolkit: None });
    }
    let toolkit = toolkit().context("cannot set up a CUDA device (--cpu skips it)")?;
    let mut cuda = cuda_worker();
    toolkit.equip(&mut cuda)?;
    build("the worker with candle's CUDA backend", "five minutes on a new machine", &mut cuda)?;
    let devices = match toolkit {
        Toolkit::Installed(_) => "cpu, sim:0 and cuda:0",
        Toolkit::Assembled(_) => "cpu and sim:0; without cuda:0, which needs a GPU and a CUDA toolkit",
    };
    simulator()?;
    Ok(Ready { devices, toolkit: Some(toolkit) })
}

/// The toolkit and the simulated device, for fuzzers, which have candle's CUDA backend in their own process. `None` where only
/// candle's CPU backend is fuzzed.
pub fn simulated(devices: Devices) -> anyhow::Result<Option<Toolkit>> {
    if !devices.can_be_simulated() {
        return Ok(None);
    }
    let toolkit = toolkit().context("cannot set up a CUDA device (--cpu skips it)")?;
    simulator()?;
    Ok(Some(toolkit))
}

/// Builds the simulated device's worker for another compute capability, beside the usual one.
pub fn for_capability(capability: Capability) -> anyhow::Result<()> {
    let mut cuda = cuda_worker();
    toolkit()?.equip(&mut cuda)?;
    capability.choose(&mut cuda)?;
    build(&format!("the worker for compute capability {capability}"), "ten minutes the first time", &mut cuda)
}

/// The command that builds the worker with candle's CUDA backend.
pub fn cuda_worker() -> Command {
    worker("snuffer-worker-cuda", "worker,cuda")
}

/// Builds the CUDA worker without overflow checks.
fn unchecked_cuda(toolkit: &Toolkit) -> anyhow::Result<()> {
    let mut worker = unchecked("snuffer-worker-cuda-unchecked", "cuda,unchecked");
    toolkit.equip(&mut worker)?;
    build("the CUDA worker without overflow checks", TWO_MINUTES, &mut worker)
}

/// The command that builds a worker without overflow checks.
fn unchecked(name: &str, features: &str) -> Command {
    let mut cargo = worker(name, features);
    cargo.args(["--config", "xtask/unchecked.toml"]);
    cargo
}

/// The command that builds a worker, with all dependencies of `snuffer`: Cargo then finds those that it has built for that.
fn worker(name: &str, features: &str) -> Command {
    let mut cargo = cargo();
    cargo.args([
        "build",
        "--locked",
        "--bin",
        name,
        "--no-default-features",
        "--features",
        "cli-dependencies",
        "--features",
    ]);
    cargo.arg(features);
    cargo
}

/// Starts the rest of a first set-up in the background. Returns a pipe that ends when the set-up does. `None` if nothing is
/// left to do.
pub fn rest_in_background(devices: Devices) -> anyhow::Result<Option<PipeReader>> {
    let built = target()?.join("debug/snuffer-worker-cuda").is_file() || !there_is_one();
    if devices.cpu || built {
        return Ok(None);
    }
    let log = target()?.join("set-up.log");
    let (ended, running) = std::io::pipe()?;
    let errors = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    // All that this starts inherits the pipe's other end as its standard output.
    let xtask = std::env::current_exe()?;
    Command::new(xtask).args(["build", "--rest"]).stdout(running).stderr(errors).spawn()?;
    say(&format!("the hunt starts on cpu; the CUDA device joins as soon as it is built (see {})", log.display()));
    Ok(Some(ended))
}

/// The toolkit, assembled if none is installed.
pub fn toolkit() -> anyhow::Result<Toolkit> {
    if let Some(installed) = Toolkit::installed() {
        return Ok(installed);
    }
    step("fetching NVIDIA's compiler", "half a minute on a new machine", || {
        let (toolkit, is_new) = Toolkit::assemble(&target()?)?;
        if is_new {
            succeeds(cargo().args(["clean", "--quiet", "--package", "candle-kernels"]));
        }
        Ok(toolkit)
    })
}

/// Builds and installs the simulated device. Returns the folder in which workers find it.
pub fn simulator() -> anyhow::Result<PathBuf> {
    let folder = target()?;
    build("the simulated device", "a minute on a new machine", build_driver(cargo().arg("--locked"), &folder))?;
    install_driver(&folder)
}

/// Runs a `cargo` that builds `what`, as a step.
pub fn build(what: &str, first_time: &str, cargo: &mut Command) -> anyhow::Result<()> {
    step(&format!("building {what}"), first_time, || {
        if status(cargo)? != 0 {
            let args: Vec<_> = cargo.get_args().map(|arg| arg.to_string_lossy()).collect();
            bail!("`cargo {}` failed", args.join(" "));
        }
        Ok(())
    })
}

/// Does `work`; prints its name, how long it takes the first time, and how long it took.
pub fn step<T>(what: &str, first_time: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    say(&format!("{what} ({first_time}, {SECOND_TIME})"));
    let begun = Instant::now();
    let made = work()?;
    say(&format!("{what} took {:.0} s", begun.elapsed().as_secs_f64()));
    Ok(made)
}
