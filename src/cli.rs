//! The command line: its commands, the options they share, and the module that runs each.

#[macro_use]
mod print;

mod begin;
mod bisect;
mod candle_arg;
mod cases;
mod causes;
mod chosen;
mod compare;
mod completions;
mod coverage;
mod demo;
mod doctor;
mod fidelity;
mod findings;
mod fixes;
mod fuzz_package;
mod golden;
mod guard;
mod history;
mod hunt;
mod import;
mod issues;
mod kernels_arg;
mod known;
mod known_arg;
mod list;
mod merge;
mod minimize;
mod moved;
mod new;
mod ops;
mod pattern;
mod promote;
mod regressions;
mod replay;
mod report;
mod sanitizer_arg;
mod schema;
mod score;
mod similar;
mod site;
mod store_arg;
mod triage;

use std::num::NonZero;
use std::ops::RangeInclusive;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::device::{Device, Selection};
use crate::exec::gpu_count::gpus;
use crate::exec::{DeviceBehaviour, Limits, WorkerSpec};
use crate::exit_code::Exit;

use candle_arg::{CandleArg, present};
use chosen::{Chosen, ChosenFindings};
use kernels_arg::KernelsArg;
use known_arg::KnownArg;
pub use ops::{example, explained};
use pattern::Pattern;
use sanitizer_arg::{SanitizerArg, usable};
use store_arg::{StoreArg, check_release, existing};

/// Finds, reproduces and minimizes inputs that break candle.
///
/// Exit codes: 0 clean, 1 usage, 2 findings, 3 device lost, 4 canary missed, 5 harness failure.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 80)]
pub struct Cli {
    #[command(flatten)]
    store: StoreArg,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what snuffer does with a kept case, step by step, in a minute.
    Demo(demo::Args),
    /// Draw and run cases, and keep a minimized finding for each new signature.
    Hunt(hunt::Args),
    /// Run cases from files, such as a fuzzer's artifacts, and keep findings as a hunt does.
    Import(import::Args),
    /// Merge the findings and counts of several stores into one.
    Merge(merge::Args),
    /// Run a case or finding, and show its contract and what happens.
    Replay(replay::Args),
    /// Check labels, ids and whole calls of a safetensors file before a GPU sees them.
    Guard(guard::Args),
    /// Simplify a failing case and print it.
    Minimize(minimize::Args),
    /// List, show and export findings, or promote one to a regression.
    Findings(findings::Args),
    /// Show which causes the findings have, and what no cause explains.
    Causes(causes::Args),
    /// Build candle with fixes of causes, write such a fix, or prove it.
    Fixes(fixes::Args),
    /// Go through the new findings and decide on each.
    Triage(triage::Args),
    /// Run all regressions, and show those that behave unexpectedly.
    Regressions(regressions::Args),
    /// Show what one candle does differently than another, with a minimized case for each difference.
    Compare(compare::Args),
    /// Query the campaigns of stores: what fails since when, and what is gone.
    History(history::Args),
    /// Write an issue for a finding, with a crate that reproduces it, built and run.
    Report(report::Args),
    /// Find the oldest candle release in which a case behaves as it does today.
    Bisect(bisect::Args),
    /// List the ops, explain one, or measure which dtypes work.
    Ops(ops::Args),
    /// Write a case of an op from shapes and values, to replay or edit.
    New(new::Args),
    /// Show which kernels and branches a campaign or cases reached on a simulated device.
    Coverage(coverage::Args),
    /// Change instructions of candle's kernels on a simulated device, and show which changes drawn cases notice.
    Score(score::Args),
    /// Compare the simulated device with hardware, case by case and bit by bit.
    Fidelity(fidelity::Args),
    /// Record what hardware computes, and check the simulated device against it.
    Golden(golden::Args),
    /// Write a static site: the matrix of ops, every finding, coverage and trends.
    Site(site::Args),
    /// Check the devices, workers, canary and tools of this machine.
    Doctor(doctor::Args),
    /// Print the JSON Schema of a JSON output or file of `snuffer`.
    Schema(schema::Args),
    /// Print the script by which a shell completes commands of `snuffer`.
    Completions(completions::CompletionsArgs),
    /// Write a man page for each command.
    Man(completions::ManArgs),
    /// Show what another release of candle means for the contracts: `cargo xtask candle` runs it.
    #[command(hide = true)]
    Moved(moved::Args),
    /// Write a package with the fuzz targets for another candle: `cargo xtask fuzz --candle` builds it.
    #[command(hide = true)]
    FuzzPackage(fuzz_package::Args),
}

/// The MiB that [`Common::memory`] can be: as many as there are addresses.
const MEMORY: RangeInclusive<u64> = 1..=u64::MAX >> 20;

/// The devices of a command.
#[derive(Debug, Clone, clap::Args)]
struct DevicesArg {
    /// Device to run on: `cpu`, `cuda:0` or `sim:0`; repeatable. `cuda` is all GPUs that the driver shows; a campaign spreads
    /// its workers over them. By default `cpu` and the first GPU, or the simulated device on machines without a GPU.
    #[arg(long = "device", alias = "devices", env = "SNUFFER_DEVICES", value_delimiter = ',')]
    devices: Vec<Selection>,
}

impl DevicesArg {
    /// The devices that were named, or else the default ones.
    fn all(&self) -> anyhow::Result<Vec<Device>> {
        if self.devices.is_empty() { Ok(crate::exec::environment::default_devices()) } else { self.named() }
    }

    /// The devices that were named, each once.
    fn named(&self) -> anyhow::Result<Vec<Device>> {
        let mut named = Vec::new();
        for selection in &self.devices {
            let devices = match *selection {
                Selection::One(device) => vec![device],
                Selection::AllGpus => gpus()?,
            };
            let new: Vec<Device> = devices.into_iter().filter(|device| !named.contains(device)).collect();
            named.extend(new);
        }
        Ok(named)
    }

    /// Whether a case runs on one of the GPUs instead of on all: they were not named one by one.
    fn spread(&self) -> bool {
        self.devices.contains(&Selection::AllGpus)
    }
}

/// Options that several commands share.
#[derive(Debug, Clone, clap::Args)]
struct Common {
    #[command(flatten)]
    devices: DevicesArg,
    /// Time limit of one case, such as `5s` or `500ms`.
    #[arg(long, default_value = "5s", value_parser = duration)]
    timeout: Duration,
    /// Memory of one worker, in MiB: its address space, and on GPUs its private memory.
    #[arg(long, default_value_t = 4096, value_parser = clap::builder::RangedU64ValueParser::<u64>::new().range(MEMORY))]
    memory: u64,
    /// Memory that must be free on a GPU for each of its workers, in MiB.
    #[arg(long, default_value_t = 768)]
    gpu_memory: u64,
    /// Time in which a new worker must have opened its device and run a kernel. After that the device is lost.
    #[arg(long = "open-timeout", default_value = "60s", value_parser = duration)]
    opening: Duration,
    /// Report kernels that access the buffer outside of a view (simulated devices).
    #[arg(long)]
    exact_views: bool,
}

impl Common {
    fn devices(&self) -> anyhow::Result<Vec<Device>> {
        self.devices.all()
    }

    /// The workers, with the release under test.
    fn spec(&self) -> WorkerSpec {
        let Self { timeout, memory, gpu_memory, opening, exact_views, .. } = *self;
        WorkerSpec {
            limits: Limits { deadline: timeout, opening, memory_mib: memory, gpu_memory_mib: gpu_memory },
            behaviour: DeviceBehaviour { exact_views, ..DeviceBehaviour::default() },
            ..WorkerSpec::default()
        }
    }
}

/// How many threads a command has.
#[derive(Debug, Clone, clap::Args)]
struct JobsArg {
    /// Workers per device; the GPUs of `--device cuda` share them. By default one per core, and on GPUs at most four each.
    #[arg(long, value_parser = clap::builder::RangedU64ValueParser::<u16>::new().range(1..=1024))]
    jobs: Option<u16>,
}

impl JobsArg {
    /// How many workers `devices` have, where a case runs on one of their GPUs if they are `spread`.
    fn number(&self, devices: &[Device], spread: bool) -> usize {
        /// The processes of a GPU take turns on it, so more of them only wait for each other.
        const PER_GPU: usize = 4;
        let gpus = devices.iter().filter(|device| device.is_gpu()).count();
        let most = match gpus {
            0 => usize::MAX,
            _ if spread => PER_GPU * gpus,
            _ => PER_GPU,
        };
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        self.jobs.map_or_else(|| cores().min(most), usize::from)
    }
}

/// Runs a command; without one, says where to begin.
pub fn run(cli: Cli) -> anyhow::Result<Exit> {
    let store = cli.store;
    let Some(command) = cli.command else { return Ok(begin::run(&store)) };
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Hunt(args) => hunt::run(&args, &store),
        Command::Import(args) => import::run(&args, &store),
        Command::Merge(args) => merge::run(&args),
        Command::Replay(args) => replay::run(&args, &store),
        Command::Guard(args) => guard::run(&args),
        Command::Minimize(args) => minimize::run(&args, &store),
        Command::Findings(args) => findings::run(args, &store),
        Command::Causes(args) => causes::run(&args, &store),
        Command::Fixes(args) => fixes::run(&args, &store),
        Command::Triage(args) => triage::run(&args, &store),
        Command::Regressions(args) => regressions::run(&args),
        Command::Compare(args) => compare::run(&args, &store),
        Command::History(args) => history::run(&args),
        Command::Report(args) => report::run(&args, &store),
        Command::Bisect(args) => bisect::run(&args, &store),
        Command::Ops(args) => ops::run(&args),
        Command::New(args) => new::run(&args),
        Command::Coverage(args) => coverage::run(&args, &store),
        Command::Score(args) => score::run(&args),
        Command::Fidelity(args) => fidelity::run(&args, &store),
        Command::Golden(args) => golden::run(&args),
        Command::Site(args) => site::run(&args, &store),
        Command::Doctor(args) => doctor::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => Ok(completions::completions(&args)),
        Command::Man(args) => completions::man(&args),
        Command::Moved(args) => moved::run(&args),
        Command::FuzzPackage(args) => fuzz_package::run(&args, &store),
    }
}

/// A mistake of the user, as opposed to a failure of the harness.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// A duration on the command line: `90s`, `5m`, `1h`, `250ms`; a plain number is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    /// A hundred years: clocks overflow at durations that are absurdly long.
    const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let unit = if is_plain { "s" } else { "" };
    let parsed = humantime::parse_duration(&format!("{text}{unit}")).ok();
    parsed
        .filter(|duration| *duration <= LONGEST)
        .ok_or_else(|| "write at most 100 years, such as `90s`, `5m` or `250ms`".to_string())
}
