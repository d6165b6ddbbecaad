//! `snuffer lab golden`: records what hardware computes, and checks the simulated device against it.

use std::path::PathBuf;

use crate::cli::hunt::matching;
use crate::cli::interrupts::stop_on_signal;
use crate::cli::{Common, JobsArg, Pattern, UsageError};
use crate::console;
use crate::device::Device;
use crate::exec::Worker;
use crate::exit_code::Exit;
use crate::golden::{Chosen, check, record};

/// Where golden vectors are kept.
const FOLDER: &str = "corpora/golden";

/// Arguments of `snuffer lab golden`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Record PTX forms and cases of kernels on hardware.
    Record(RecordArgs),
    /// Check the simulated device against what was recorded.
    Check(CheckArgs),
}

#[derive(Debug, clap::Args)]
struct RecordArgs {
    #[command(flatten)]
    common: Common,
    /// Folder for the files.
    #[arg(long, default_value = FOLDER)]
    into: PathBuf,
    /// How many cases to draw on the simulated device `sim:0`, to choose those of each kernel from.
    #[arg(long, default_value_t = 40_000)]
    cases: u64,
    /// Only ops whose name contains or matches this; repeatable.
    #[arg(long, value_delimiter = ',')]
    ops: Vec<Pattern>,
    /// Seed of the cases.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    jobs: JobsArg,
    /// The device only stands in for hardware. The files say so, and prove nothing about hardware.
    #[arg(long)]
    stand_in: bool,
}

#[derive(Debug, clap::Args)]
struct CheckArgs {
    #[command(flatten)]
    common: Common,
    /// Folder of the files.
    #[arg(default_value = FOLDER)]
    folder: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.what {
        What::Record(args) => run_record(args),
        What::Check(args) => run_check(args),
    }
}

fn run_record(args: &RecordArgs) -> anyhow::Result<Exit> {
    let device = match args.common.devices.named()?[..] {
        [] => Device::Cuda(0),
        [device @ Device::Cuda(_)] => device,
        _ => return Err(UsageError("golden vectors are recorded on one GPU; use `--device cuda:0`".to_string()).into()),
    };
    let (stop, ops, spec) = (stop_on_signal()?, matching(&args.ops)?, args.common.spec());
    let drawn = (args.seed, args.cases);
    let on_case = console::bar(args.cases as usize);
    let chosen =
        Chosen::draw(Device::Sim(0), &ops, drawn, args.jobs.number(&[Device::Sim(0)], false), &spec, &stop, &on_case)?;
    let mut worker = Worker::start(device, &spec)?;
    let on_vector = console::bar(chosen.cases.len() + crate::golden::forms().len());
    let recorded = record(&mut worker, &chosen, args.stand_in, &args.into, &on_vector)?;
    println!(
        "recorded {} forms and {} cases of {} kernels in {}; {} forms are rejected, {} cases left out",
        recorded.forms,
        recorded.cases,
        chosen.kernels,
        args.into.display(),
        recorded.refused,
        recorded.left_out
    );
    Ok(Exit::Clean)
}

fn run_check(args: &CheckArgs) -> anyhow::Result<Exit> {
    let device = match args.common.devices.named()?[..] {
        [] => Device::Sim(0),
        [device @ Device::Sim(_)] => device,
        _ => return Err(UsageError("golden vectors check a simulated device; use `--device sim:0`".to_string()).into()),
    };
    let Some(checked) = check(device, &args.common.spec(), &args.folder, &|_| {})? else {
        let folder = args.folder.display();
        let message = format!(
            "not run: no golden vectors are recorded in {folder}; `snuffer lab golden record` on a machine with a GPU"
        );
        return Err(UsageError(message).into());
    };
    if args.json {
        println!("{}", serde_json::to_string(&checked)?);
    } else {
        let stand_in = if checked.stand_in { ", which only stands in for hardware" } else { "" };
        println!("recorded on {}{stand_in}", checked.hardware.join("; "));
        println!(
            "{} vectors: {} are the same to the bit, {} differ as documented, {} are wrong; {} were not run",
            checked.vectors,
            checked.exact,
            checked.latitude,
            checked.failures.len(),
            checked.not_run
        );
        println!("{} forms have no vector", checked.without);
        for failure in &checked.failures {
            let of =
                if failure.kernels.is_empty() { String::new() } else { format!(" ({})", failure.kernels.join(", ")) };
            println!("wrong   {}{of}: {}", failure.name, failure.difference);
        }
    }
    Ok(match () {
        () if !checked.failures.is_empty() => Exit::Findings,
        () if checked.vectors == 0 => Exit::Harness,
        () => Exit::Clean,
    })
}
