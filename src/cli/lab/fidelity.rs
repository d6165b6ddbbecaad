//! `snuffer lab fidelity`: compares the simulated device with hardware, case by case and bit by bit.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::cli::hunt::matching;
use crate::cli::interrupts::stop_on_signal;
use crate::cli::{Common, JobsArg, Pattern, StoreArg, UsageError, cases, duration};
use crate::console;
use crate::device::Device;
use crate::exec::Variable;
use crate::exit_code::Exit;
use crate::fidelity::{Plan, Standing, markdown, missed, run as compare, text};
use crate::store::write_atomically;

/// Arguments of `snuffer lab fidelity`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files with cases to compare instead of drawn ones.
    files: Vec<PathBuf>,
    #[command(flatten)]
    common: Common,
    /// Only ops whose name contains or matches this, such as `loss.*`; repeatable.
    #[arg(long, value_delimiter = ',')]
    ops: Vec<Pattern>,
    /// How many cases to run.
    #[arg(long, default_value_t = 20_000)]
    cases: u64,
    /// At most how long to run, such as `5m`.
    #[arg(long, value_parser = duration)]
    time: Option<Duration>,
    /// Seed of all cases.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The index of the first case, to resume a stopped run.
    #[arg(long, default_value_t = 0)]
    first: u64,
    #[command(flatten)]
    jobs: JobsArg,
    /// A variable for the worker of one device only, such as `cuda:0:SNUFFER_SIM_JITTER=1`; repeatable.
    #[arg(long = "with", value_name = "DEVICE:NAME=VALUE")]
    variables: Vec<OfDevice>,
    /// Time limit for minimizing one disagreement.
    #[arg(long, default_value = "20s", value_parser = duration)]
    minimize: Duration,
    /// Folder for the minimized disagreements. By default `fidelity` in the store.
    #[arg(long)]
    into: Option<PathBuf>,
    /// Also write the whole result to this file, as Markdown.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// A variable of the worker for a device.
#[derive(Debug, Clone)]
struct OfDevice(Device, Variable);

/// The variables of simulated devices that one side of a comparison may have.
const VARIABLES: [&str; 8] = [
    "SNUFFER_SIM_BUDGET",
    "SNUFFER_SIM_CAPABILITY",
    "SNUFFER_SIM_CHECKS",
    "SNUFFER_SIM_DEVICES",
    "SNUFFER_SIM_JITTER",
    "SNUFFER_SIM_MEMORY",
    "SNUFFER_SIM_MUTATE",
    "SNUFFER_SIM_SMS",
];

impl FromStr for OfDevice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (whose, value) = text.split_once('=').ok_or("write DEVICE:NAME=VALUE")?;
        let (device, name) = whose.rsplit_once(':').ok_or("write DEVICE:NAME=VALUE")?;
        let known = VARIABLES.into_iter().find(|known| *known == name);
        let name = known.ok_or_else(|| format!("`{name}` is not one of {}", VARIABLES.join(", ")))?;
        Ok(Self(device.parse()?, (name, value.into())))
    }
}

pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    let plan = plan(args, store)?;
    let missed = missed(&plan)?;
    if !missed.is_empty() {
        for missed in missed {
            eprintln!("{missed}");
        }
        return Ok(Exit::CanaryMissed);
    }
    let stop = stop_on_signal()?;
    let length = if plan.given.is_empty() { plan.cases as usize } else { plan.given.len() };
    let (report, ended) = compare(&plan, &stop, &console::bar(length))?;
    if let Some(file) = &args.markdown {
        write_atomically(file, markdown(&report).as_bytes())?;
    }
    if args.json {
        println!("{}", serde_json::to_string(&report)?);
    } else {
        print!("{}", text(&report));
    }
    ended?;
    Ok(match () {
        () if report.total.cases == 0 => Exit::Harness,
        () if report.total.wrong > 0 || report.of(Standing::SimulatorWrong).next().is_some() => Exit::Findings,
        () => Exit::Clean,
    })
}

fn plan(args: &Args, store: &StoreArg) -> anyhow::Result<Plan> {
    let devices = match args.common.devices.named()?[..] {
        [] => [Device::Sim(0), Device::Cuda(0)],
        [simulated @ Device::Sim(_), other @ (Device::Cuda(_) | Device::Sim(_))] if simulated != other => {
            [simulated, other]
        }
        _ => {
            let message =
                "fidelity compares a simulated device with one other CUDA device; use `--device sim:0,cuda:0`";
            return Err(UsageError(message.to_string()).into());
        }
    };
    if let Some(OfDevice(device, _)) = args.variables.iter().find(|OfDevice(of, _)| !devices.contains(of)) {
        return Err(UsageError(format!("--with names {device}, which is not compared")).into());
    }
    Ok(Plan {
        devices,
        variables: args.variables.iter().map(|OfDevice(device, variable)| (*device, variable.clone())).collect(),
        ops: matching(&args.ops)?,
        given: args.files.iter().map(|file| Ok(cases::read(file)?.1)).collect::<anyhow::Result<_>>()?,
        seed: args.seed,
        first: args.first,
        cases: args.cases,
        time: args.time,
        jobs: args.jobs.number(&devices, false),
        spec: args.common.spec(),
        minimize: args.minimize,
        into: args.into.clone().unwrap_or_else(|| store.path().join("fidelity")),
    })
}
