//! `snuffer bisect`: the oldest candle release in which a case behaves as it does today, or as with another candle; and since which
//! release causes are there.

mod causes;

use std::path::PathBuf;
use std::time::Duration;

use super::check_lacking;
use super::{CandleArg, JobsArg, StoreArg, UsageError, cases, duration};
use crate::device::Device;
use crate::exec::Limits;
use crate::exit_code::Exit;
use crate::investigate::{RELEASES, Releases, bisect};

/// Arguments of `snuffer bisect`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file with a case, finding or regression, or the name of a finding; `-` reads
    /// standard input.
    #[arg(required_unless_present = "causes")]
    case: Option<PathBuf>,
    /// Instead of a case, run the failures that each cause explains, the kept ones and those of the store, with every release, and write since
    /// which release the cause is there to its folder. Workers of each release are built once, in a minute.
    #[arg(long, conflicts_with_all = ["case", "candle", "all", "target", "json"])]
    causes: bool,
    #[command(flatten)]
    jobs: JobsArg,
    /// Device to run on.
    #[arg(long, default_value = "cpu")]
    device: Device,
    #[command(flatten)]
    candle: CandleArg,
    /// Releases of candle, oldest first, or paths of checkouts of candle's repository.
    #[arg(long, value_delimiter = ',', default_values = RELEASES)]
    versions: Vec<String>,
    /// Try every release instead of bisecting.
    #[arg(long)]
    all: bool,
    /// Where programs are built; built releases are kept there.
    #[arg(long, default_value = "target/reproductions")]
    target: PathBuf,
    /// Time limit of the program.
    #[arg(long, default_value = "10s", value_parser = duration)]
    timeout: Duration,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

/// Finds the oldest tested release in which the case behaves as it does today.
pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    let Some(named) = &args.case else { return causes::run(args, store) };
    let (op, case) = cases::named(named, store)?;
    let limits = Limits { deadline: args.timeout, ..Limits::default() };
    let spec = args.candle.apply(&[args.device], limits.into())?;
    check_lacking(&case, &spec)?;
    let releases =
        Releases { versions: &args.versions, all: args.all, device: args.device, target: &args.target, spec: &spec };
    let bisected = bisect(op, &case, releases, |tried| {
        if !args.json {
            println!("{:<9} {tried}", tried.version);
        }
    })?;
    let bisected =
        bisected.map_err(|why| UsageError(format!("{}: cannot be written as a program: {why}", named.display())))?;
    if args.json {
        println!("{}", serde_json::to_string(&bisected)?);
    } else {
        println!("today     {}\n{bisected}", bisected.today);
    }
    Ok(match () {
        () if bisected.since.is_none() => Exit::Harness,
        () if bisected.fails => Exit::Findings,
        () => Exit::Clean,
    })
}
