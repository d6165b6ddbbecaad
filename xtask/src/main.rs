//! `cargo xtask`: the commands of the README. Each does all the set-up that it needs, and prints its steps.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context;
use clap::{Parser, Subcommand};

use crate::capability::Capability;
use crate::set_up::{Devices, Ready};
use crate::shell::{cargo, say, status, target};

mod attack;
mod bench;
mod book;
mod candle;
mod candle_tests;
mod capability;
#[path = "../../src/candles/compiler.rs"]
mod compiler;
mod crates;
mod detectors;
mod dist;
mod fix_cost;
mod functions;
#[path = "../../src/candles/functions.rs"]
mod functions_of;
mod fuzz;
mod gpu_report;
mod host_mutants;
mod known;
mod measure;
mod models;
mod packages;
mod picture;
mod promises;
mod reference;
mod sentences;
mod set_up;
mod shell;
mod sources;
mod stand_in;

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
        /// Only the parts that a hunt can start without.
        #[arg(long, hide = true)]
        rest: bool,
        /// Also build the simulated device's worker for this compute capability, such as `7.5`: `SNUFFER_SIM_CAPABILITY=7.5
        /// snuffer …` uses it. `CUDA_COMPUTE_CAP` also sets it.
        #[arg(long, env = "CUDA_COMPUTE_CAP", value_name = "X.Y")]
        capability: Option<Capability>,
    },
    /// Build `snuffer` and hunt; arguments after `--` go to `snuffer hunt`. On a new machine the hunt starts on `cpu` while the rest
    /// is built.
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
    /// Build everything and run all tests. Arguments after `--` go to `cargo test`, and then only `snuffer`'s own tests run.
    Test {
        #[command(flatten)]
        devices: Devices,
        /// Arguments of `cargo test`.
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Build and run a fuzz target, and store findings as a hunt does.
    Fuzz(fuzz::Args),
    /// Attack the command line, its stores and workers, and the simulated driver with hostile experiments.
    Attack(attack::Args),
    /// Build the documentation as a searchable book, in `target/book`.
    Book(book::Args),
    /// Make the pictures of a terminal in `docs/images`.
    Picture,
    /// Measure the figures that a change must not make worse.
    Measure(measure::Args),
    /// Measure the simulated device and hunts on a quiet machine, and write docs/performance.md.
    Bench(bench::Args),
    /// Move the suite to another release of candle: list the places to reread, then pin it.
    Candle(candle::Args),
    /// Run the CUDA tests that candle publishes on the simulated device.
    CandleTests(candle_tests::Args),
    /// Run the CUDA tests and examples of published crates on the simulated device, and compare with known results.
    Crates(crates::Args),
    /// Compile our labelled programs, and measure which of their errors the simulated device finds, misses and invents.
    Detectors(detectors::Args),
    /// On a machine with a GPU, run all checks that need real hardware, within a budget, and write docs/gpu/REPORT.md.
    GpuReport(gpu_report::Args),
    /// Run a command, such as `cargo test --features cuda`, as if the simulated device were a GPU.
    StandIn {
        /// The command and its arguments.
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Build only the simulated device, for tests that need it.
    #[command(hide = true)]
    Simulator,
    /// Build everything and make the release archive, in `target/dist`.
    Dist(dist::Args),
    /// Package all crates as they would be published, and use them from an empty crate.
    Packages(packages::Args),
    /// Build the worker for `snuffer lab score --host`, with every mutant of candle's host code compiled in.
    HostMutants(host_mutants::Args),
    /// Time the calls that dominate in models, with candle as released and with all fixes.
    FixCost(fix_cost::Args),
    /// Write the table of candle's functions, which signatures use to name places.
    Functions {
        /// Only check that the table is up to date.
        #[arg(long)]
        check: bool,
    },
    /// Write which of candle's functions each model of candle-transformers uses, from which causes name the models that they concern.
    Models {
        /// Only check that the table is up to date.
        #[arg(long)]
        check: bool,
    },
    /// Build everything and write the reference pages of a release, in `target/reference`: ops, PTX forms, and unspecified results.
    Reference {
        /// How many cases to run to count unspecified results.
        #[arg(long, default_value_t = 40_000)]
        cases: u64,
    },
    /// Write every sentence that a user can read into one file, for proofreading.
    Sentences(sentences::Args),
}

fn main() -> ExitCode {
    match run(Cli::parse().task) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            say(&format!("{error:#}"));
            ExitCode::from(5)
        }
    }
}

fn run(task: Task) -> anyhow::Result<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask is in the workspace")?;
    // An archive is unpacked anywhere, and its script goes there.
    if !matches!(&task, Task::GpuReport(args) if args.unpacked) {
        std::env::set_current_dir(root)?;
    }
    match task {
        Task::Build { devices, rest, capability } => {
            let Ready { devices: there, .. } =
                if rest { set_up::rest(devices)? } else { set_up::with_unchecked_cuda(devices)? };
            let is_other = |capability: &Capability| *capability != Capability::USUAL;
            let other = capability.filter(is_other).filter(|_| devices.can_be_simulated() && !rest);
            other.map_or(Ok(()), set_up::for_capability)?;
            say(&format!("built for {there}"));
            Ok(0)
        }
        Task::Hunt { devices, args } => hunt(devices, &args),
        Task::Report { devices, args } => {
            let Ready { toolkit, .. } = set_up::everything(devices)?;
            let mut snuffer = Command::new(target()?.join("debug/snuffer"));
            if let Some(toolkit) = toolkit {
                // Programs for findings on CUDA devices are built with candle's kernels.
                toolkit.equip(&mut snuffer)?;
            }
            replace_with(devices.limit(&mut snuffer).arg("report").args(args))
        }
        Task::Test { devices, args } => test(devices, &args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Attack(args) => attack::run(&args),
        Task::Bench(args) => bench::run(&args),
        Task::Book(args) => book::run(&args),
        Task::Picture => picture::run(root),
        Task::Measure(args) => measure::run(&args),
        Task::Candle(args) => candle::run(root, &args),
        Task::CandleTests(args) => candle_tests::run(&set_up::toolkit()?, &args),
        Task::Crates(args) => crates::run(&args),
        Task::Detectors(args) => detectors::run(&args),
        Task::GpuReport(args) => gpu_report::run(&args),
        Task::StandIn { command } => stand_in::run(&command),
        Task::Simulator => set_up::simulator().map(|_| 0),
        Task::Dist(args) => dist::run(&args),
        Task::Packages(args) => packages::run(&args),
        Task::HostMutants(args) => host_mutants::run(&args),
        Task::FixCost(args) => fix_cost::run(&args),
        Task::Functions { check } => functions::run(root, check),
        Task::Models { check } => models::run(root, check),
        Task::Reference { cases } => reference::run(root, cases),
        Task::Sentences(args) => sentences::run(&args),
    }
}

/// Hunts with `snuffer`. On a new machine the hunt begins on `cpu`, and takes the CUDA device in when it is built.
fn hunt(devices: Devices, args: &[String]) -> anyhow::Result<u8> {
    set_up::snuffer()?;
    let mut snuffer = Command::new(target()?.join("debug/snuffer"));
    // These need all devices from the first case on.
    let needs_all = ["--device", "--cases", "--resume", "--kernels", "--candle"];
    let waits = args.iter().any(|arg| needs_all.iter().any(|option| arg.starts_with(option)));
    match if waits { None } else { set_up::rest_in_background(devices)? } {
        Some(set_up) => snuffer.arg("hunt").arg("--while-setting-up").stdin(set_up),
        None => {
            set_up::rest(devices)?;
            snuffer.arg("hunt")
        }
    };
    replace_with(devices.limit(&mut snuffer).args(args))
}

/// Gives this process' place to `snuffer`: an interrupt at the terminal reaches it alone, and it ends in order.
fn replace_with(snuffer: &mut Command) -> anyhow::Result<u8> {
    Err(snuffer.exec()).context("cannot run snuffer")
}

/// Builds everything and runs the tests: all of them, or those of the package `snuffer` that `args` name.
fn test(devices: Devices, args: &[String]) -> anyhow::Result<u8> {
    // Not in one build: what the simulator's tests need turns on features of crates below candle, which would be built again.
    const PACKAGES: [&[&str]; 2] = [&["--package", "snuffer"], &["--workspace", "--exclude", "snuffer"]];
    let Ready { devices: there, toolkit } = set_up::everything(devices)?;
    for packages in &PACKAGES[..if args.is_empty() { 2 } else { 1 }] {
        let mut cargo = cargo();
        if let Some(toolkit) = &toolkit {
            // Tests build programs with candle's kernels.
            toolkit.equip(&mut cargo)?;
        }
        let code = status(devices.limit(&mut cargo).args(["test", "--locked"]).args(*packages).args(args))?;
        if code != 0 {
            return Ok(code);
        }
    }
    say(&format!("tests ran on {there}"));
    Ok(0)
}
