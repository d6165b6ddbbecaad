//! The command line: what can be asked, and which module answers.

mod bisect;
mod cases;
mod coverage;
mod doctor;
mod findings;
mod guard;
mod history;
mod hunt;
mod import;
mod issues;
mod known;
mod merge;
mod minimize;
mod ops;
mod promote;
mod regressions;
mod replay;
mod report;
mod schema;
mod score;
mod site;
mod triage;

use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};

use crate::device::Device;
use crate::exec::{DeviceBehaviour, Limits};
use crate::exit_code::Exit;
use crate::store::regression;
use crate::store::regression::Regression;
use crate::store::{Finding, Store};

/// Finds, reproduces and minimizes the inputs that put candle out.
///
/// Exit codes: 0 clean, 1 usage, 2 findings, 3 device lost, 4 canary missed, 5 harness failure.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Draw cases, run them, and keep a minimized finding for each new signature.
    Hunt(hunt::Args),
    /// Run the cases that files hold, such as a fuzzer's artifacts, and keep findings as a hunt does.
    Import(import::Args),
    /// Put what several hunts found and counted into one store.
    Merge(merge::Args),
    /// Run a case or finding and show what is promised and what happens.
    Replay(replay::Args),
    /// Check labels, ids and whole calls of a safetensors file before a GPU sees them.
    Guard(guard::Args),
    /// Make a failing case simpler and print it.
    Minimize(minimize::Args),
    /// List and show findings, or promote one to a regression.
    Findings(findings::Args),
    /// Walk the new findings, and say of each what is to become of it.
    Triage(triage::Args),
    /// Run everything that is kept, and show what does not do what is expected of it.
    Regressions(regressions::Args),
    /// Say since when what fails, or what is gone: all campaigns of a store, or of several, as a database.
    History(history::Args),
    /// Write a finding as an issue, with a crate that reproduces it, built and run.
    Report(report::Args),
    /// Name the release of candle since which a case does what it does today.
    Bisect(bisect::Args),
    /// Show the catalog of ops with their contracts' sources, or measure what works in which dtype.
    Ops(ops::Args),
    /// Show which kernels and branches a campaign, or cases, reached on a simulated device.
    Coverage(coverage::Args),
    /// Change candle's kernels on a simulated device, one instruction at a time, and show what drawn cases notice.
    Score(score::Args),
    /// Write a static site of what was found: the matrix of ops, every finding, coverage and trends.
    Site(site::Args),
    /// Show what this machine has and lacks.
    Doctor(doctor::Args),
    /// Print the JSON Schema of what `snuffer` prints or keeps as JSON.
    Schema(schema::Args),
}

/// Options that several commands share.
#[derive(Debug, Clone, clap::Args)]
struct Common {
    /// Device to run on: `cpu`, `cuda:0`, `sim:0`; may be given several times. By default `cpu` and the GPU, or the
    /// simulated device where there is none.
    #[arg(long = "device", env = "SNUFFER_DEVICES", value_delimiter = ',')]
    devices: Vec<Device>,
    /// How long one case may take, such as `5s` or `500ms`.
    #[arg(long, default_value = "5s", value_parser = duration)]
    timeout: std::time::Duration,
    /// Address space of one worker, in MiB.
    #[arg(long, default_value_t = 4096)]
    memory: u64,
    /// Report kernels that reach around a view in its buffer (simulated devices).
    #[arg(long)]
    exact_views: bool,
}

impl Common {
    fn devices(&self) -> Vec<Device> {
        if self.devices.is_empty() { crate::exec::environment::default_devices() } else { self.devices.clone() }
    }

    fn limits(&self) -> Limits {
        let Self { timeout, memory, exact_views, .. } = *self;
        Limits {
            deadline: timeout,
            memory_mib: memory,
            behaviour: DeviceBehaviour { exact_views, ..Default::default() },
        }
    }
}

/// Where findings are.
#[derive(Debug, Clone, clap::Args)]
struct StoreArg {
    /// Folder of findings and campaign records.
    #[arg(long, default_value = "findings", env = "SNUFFER_FINDINGS")]
    store: PathBuf,
}

impl StoreArg {
    /// The store, which must be there.
    fn existing(&self) -> Result<Store, UsageError> {
        existing(&self.store)
    }

    /// The finding of this name in a store that is there.
    fn finding(&self, name: &str) -> anyhow::Result<Finding> {
        let store = self.existing()?;
        let missing = || {
            let store = self.store.display();
            UsageError(format!("no finding `{name}` in {store}; `snuffer findings list` shows what there is"))
        };
        Ok(store.get(name)?.ok_or_else(missing)?)
    }
}

/// The store at `root`, which must be there.
fn existing(root: &Path) -> Result<Store, UsageError> {
    Store::existing(root).map_err(|missing| UsageError(missing.to_string()))
}

/// What is known.
#[derive(Debug, Clone, clap::Args)]
struct KnownArg {
    /// Folder of regressions, which say what is known: `corpora/regressions`, where there is such a folder.
    #[arg(long, global = true)]
    known: Option<PathBuf>,
}

impl KnownArg {
    fn folder(&self) -> PathBuf {
        self.known.clone().unwrap_or_else(|| PathBuf::from("corpora/regressions"))
    }

    /// The regressions; without a folder there are none, unless one was asked for.
    fn read(&self) -> anyhow::Result<Vec<(String, Regression)>> {
        let folder = self.folder();
        if self.known.is_none() && !folder.is_dir() {
            return Ok(Vec::new());
        }
        regression::read(&folder).map_err(|problem| UsageError(format!("{problem:#}")).into())
    }
}

/// Does what the command line asks.
pub fn run(cli: Cli) -> anyhow::Result<Exit> {
    match cli.command {
        Command::Hunt(args) => hunt::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Guard(args) => guard::run(&args),
        Command::Minimize(args) => minimize::run(&args),
        Command::Findings(args) => findings::run(args),
        Command::Triage(args) => triage::run(&args),
        Command::Regressions(args) => regressions::run(&args),
        Command::History(args) => history::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Bisect(args) => bisect::run(&args),
        Command::Ops(args) => ops::run(&args),
        Command::Coverage(args) => coverage::run(&args),
        Command::Score(args) => score::run(&args),
        Command::Site(args) => site::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Schema(args) => schema::run(&args),
    }
}

/// A mistake of the caller, as opposed to a failure of the harness.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// A duration as people write it: `90s`, `5m`, `1h`, `250ms`.
fn duration(text: &str) -> Result<std::time::Duration, String> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("`{text}` is no duration; write `90s`, `5m` or `250ms`")),
    };
    let number: f64 = number.parse().map_err(|_| format!("`{text}` is no duration; write `90s`, `5m` or `250ms`"))?;
    std::time::Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}
