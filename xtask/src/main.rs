//! `cargo xtask`: the commands of the README. Each does all the set-up that it needs, and prints its steps.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};

use crate::toolkit::Toolkit;

mod candle_tests;
mod functions;
mod fuzz;
mod simulator;
mod stubs;
mod toolkit;

/// Sets `snuffer` up and runs it.
#[derive(Debug, Parser)]
#[command(max_term_width = 80)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Build everything.
    Build {
        #[command(flatten)]
        devices: Devices,
        /// Also build the CUDA worker without overflow checks, which runs findings a second time.
        #[arg(long)]
        release: bool,
    },
    /// Build everything and hunt; arguments after `--` go to `snuffer hunt`.
    Hunt {
        #[command(flatten)]
        devices: Devices,
        /// Arguments of `snuffer hunt`, such as `--time 60s`.
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Build everything and report a finding; arguments after `--` go to `snuffer report`.
    Report {
        #[command(flatten)]
        devices: Devices,
        /// Arguments of `snuffer report`, such as the finding's name.
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Build everything and run all tests; arguments after `--` go to `cargo test`.
    Test {
        #[command(flatten)]
        devices: Devices,
        /// Arguments of `cargo test`.
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Build and run a fuzz target, and keep findings as a hunt does.
    Fuzz(fuzz::Args),
    /// Add to the seeds of a fuzz target the fewest fuzzed inputs that reach more code.
    Corpus(fuzz::Corpus),
    /// Run the CUDA tests that candle publishes on the simulated device.
    CandleTests {
        /// Only tests whose name contains this.
        #[arg(long, default_value = "")]
        filter: String,
        /// Only list the tests.
        #[arg(long)]
        list: bool,
    },
    /// Write the table of candle's functions, by which signatures name places.
    Functions {
        /// Only say whether the table is up to date.
        #[arg(long)]
        check: bool,
    },
}

#[derive(Debug, clap::Args)]
struct Devices {
    /// Only set up `cpu`: no CUDA device, no download.
    #[arg(long)]
    cpu: bool,
}

impl Devices {
    /// Keeps `command` from CUDA devices that an earlier set-up left.
    fn limit<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if self.cpu { command.env("SNUFFER_DEVICES", "cpu") } else { command }
    }
}

fn main() -> ExitCode {
    match run(Cli::parse().task) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(5)
        }
    }
}

fn run(task: Task) -> anyhow::Result<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask is in the workspace")?;
    std::env::set_current_dir(root)?;
    match task {
        Task::Build { devices, release } => {
            eprintln!("xtask: built for {}", set_up(&devices, release)?.0);
            Ok(0)
        }
        Task::Hunt { devices, args } => {
            set_up(&devices, false)?;
            let mut snuffer = Command::new(target()?.join("debug/snuffer"));
            status(devices.limit(&mut snuffer).arg("hunt").args(args))
        }
        Task::Report { devices, args } => {
            let (_, toolkit) = set_up(&devices, false)?;
            let mut snuffer = Command::new(target()?.join("debug/snuffer"));
            if let Some(toolkit) = toolkit {
                // Programs for findings on CUDA devices are built with candle's kernels.
                toolkit.equip(&mut snuffer)?;
            }
            status(devices.limit(&mut snuffer).arg("report").args(args))
        }
        Task::Test { devices, args } => {
            let (there, toolkit) = set_up(&devices, false)?;
            let mut cargo = cargo();
            if let Some(toolkit) = toolkit {
                // Tests build programs with candle's kernels.
                toolkit.equip(&mut cargo)?;
            }
            let code = status(devices.limit(&mut cargo).args(["test", "--workspace", "--locked"]).args(args))?;
            eprintln!("xtask: tests ran on {there}");
            Ok(code)
        }
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Corpus(args) => fuzz::corpus(&args),
        Task::CandleTests { filter, list } => candle_tests::run(&toolkit()?, &filter, list),
        Task::Functions { check } => functions::run(root, check),
    }
}

/// Builds everything. Returns the devices that this sets up and those that it does not, in words, and the toolkit of the CUDA
/// device, if there is one.
fn set_up(devices: &Devices, unchecked_cuda: bool) -> anyhow::Result<(&'static str, Option<Toolkit>)> {
    const USUALLY: &str = "minutes on a new machine, else a second";
    build("snuffer and its worker, optimized, with overflow checks", USUALLY, cargo().args(["build", "--locked"]))?;
    let unchecked = ["build", "--locked", "--release", "--bin", "snuffer-worker"];
    build("the worker without overflow checks", USUALLY, cargo().args(unchecked))?;
    if devices.cpu {
        return Ok(("cpu; without sim:0 and cuda:0, because of --cpu", None));
    }
    if !toolkit::there_is_one() {
        return Ok(("cpu; without cuda:0, and without sim:0, which needs NVIDIA's compiler (x86-64 Linux)", None));
    }
    let toolkit = toolkit().context("cannot set up a CUDA device (--cpu skips it)")?;
    let cuda = ["build", "--locked", "--features", "cuda", "--bin", "snuffer-worker-cuda"];
    let checked = ("the worker with candle's CUDA backend", None);
    let unchecked = ("the CUDA worker without overflow checks", Some("--release"));
    for (what, profile) in [checked].into_iter().chain(unchecked_cuda.then_some(unchecked)) {
        let mut worker = cargo();
        toolkit.equip(worker.args(cuda).args(profile))?;
        build(what, "four minutes on a new machine, else a second", &mut worker)?;
    }
    let there = match toolkit {
        Toolkit::Installed(_) => "cpu and cuda:0; without sim:0, which is for machines without a GPU",
        Toolkit::Assembled(_) => {
            simulator::install()?;
            "cpu and sim:0; without cuda:0, which needs a GPU and a CUDA toolkit"
        }
    };
    Ok((there, Some(toolkit)))
}

fn toolkit() -> anyhow::Result<Toolkit> {
    if let Some(installed) = Toolkit::installed() {
        return Ok(installed);
    }
    step("fetching NVIDIA's compiler", "half a minute on a new machine, else no time", Toolkit::assemble)
}

fn build(what: &str, usually: &str, cargo: &mut Command) -> anyhow::Result<()> {
    step(&format!("building {what}"), usually, || {
        if status(cargo)? != 0 {
            let args: Vec<_> = cargo.get_args().map(|arg| arg.to_string_lossy()).collect();
            bail!("`cargo {}` failed", args.join(" "));
        }
        Ok(())
    })
}

/// Does `work`; prints its name, how long it usually takes, and how long it took.
fn step<T>(what: &str, usually: &str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    eprintln!("xtask: {what} ({usually})");
    let begun = Instant::now();
    let made = work()?;
    eprintln!("xtask: done in {:.0} s", begun.elapsed().as_secs_f64());
    Ok(made)
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Cargo's target folder, as an absolute path.
fn target() -> anyhow::Result<PathBuf> {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    Ok(std::path::absolute(folder)?)
}

/// Runs `command` to its end, and returns its exit code.
fn status(command: &mut Command) -> anyhow::Result<u8> {
    let status = command.status().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(5))
}
