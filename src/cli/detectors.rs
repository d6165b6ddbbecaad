//! `snuffer detectors`: measures the detectors of the simulated device on labelled programs.

use std::path::PathBuf;
use std::time::Duration;

use super::{JobsArg, UsageError, duration};
use crate::console;
use crate::detectors::label::{self, Class};
use crate::detectors::{Measured, Measurement, markdown};
use crate::device::Device;
use crate::exec::Sanitizer;
use crate::exit_code::Exit;

/// Arguments of `snuffer detectors`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of the programs, with a `labels.toml`.
    folder: PathBuf,
    /// Time limit of a run, such as `5s` or `500ms`. Under a tool of compute-sanitizer it is 20 times as long.
    #[arg(long, default_value = "20s", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    jobs: JobsArg,
    /// Only every N-th run of each class.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    every: usize,
    /// A class whose missed errors are listed, but no finding; repeatable.
    #[arg(long, value_name = "CLASS", value_enum, hide_possible_values = true)]
    known: Vec<Class>,
    /// Also run each program without checkers, to see what they cost.
    #[arg(long)]
    cost: bool,
    /// Also run each program on a GPU under all four tools of NVIDIA's compute-sanitizer.
    #[arg(long)]
    sanitizer: bool,
    /// Print the results as JSON, one object for each detector on a line.
    #[arg(long)]
    json: bool,
}

/// Measures. Exits with `Findings` if an error is missed or a report is false, with `Harness` if a run proves nothing.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let unreadable = |error: label::Unreadable| UsageError(error.to_string());
    let labels = label::read(&args.folder, args.every).map_err(unreadable)?;
    if args.sanitizer {
        Sanitizer::check().map_err(|problem| UsageError(problem.to_string()))?;
    }
    let after_each = console::bar(labels.len() * if args.sanitizer { 2 } else { 1 });
    let measurement = Measurement {
        folder: &std::path::absolute(&args.folder)?,
        labels: &labels,
        jobs: args.jobs.number(&[Device::Sim(0)], false),
        limit: args.timeout,
        costs: args.cost,
        after_each: &after_each,
    };
    let mut results = vec![measurement.simulated()?];
    if args.sanitizer {
        results.push(measurement.sanitized()?);
    }
    if args.json {
        for measured in &results {
            println!("{}", serde_json::to_string(measured)?);
        }
    } else {
        print!("{}", markdown(&results));
    }
    let is_whole = |measured: &Measured| measured.not_run.is_empty() && measured.runs() > 0;
    Ok(match () {
        () if !results.iter().all(is_whole) => Exit::Harness,
        () if !results[0].is_perfect(&args.known) => Exit::Findings,
        () => Exit::Clean,
    })
}
