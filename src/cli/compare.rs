//! `snuffer compare`: what one candle does differently than another.

mod shown;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use super::candle_under_test;
use super::hunt::{matching, now};
use super::interrupts::stop_on_signal;
use super::{Common, JobsArg, KnownArg, Pattern, StoreArg, duration, present};
use crate::candles::{Changed, Sources, crates};
use crate::compare::{Order, Plan, Reach, compare, reaches};
use crate::console::count;
use crate::device::Device;
use crate::exec::{CandleUnderTest, WorkerSpec};
use crate::exit_code::Exit;
use crate::hunt::check_canary;
use crate::ops::Op;
use crate::report::{Comparison, changed};
use crate::store::write_atomically;

/// Arguments of `snuffer compare`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The base: a release such as `0.11.0`, a checkout or some of its crates, or a folder of patches.
    base: String,
    /// The candle to test, named in the same way.
    head: String,
    #[command(flatten)]
    common: Common,
    /// Only ops whose name contains or matches this, such as `loss.*`; repeatable.
    #[arg(long, value_delimiter = ',')]
    ops: Vec<Pattern>,
    /// How long to draw cases, such as `5m`. By default 60 s, or no limit with `--cases`. Running regressions and minimizing take
    /// extra time.
    #[arg(long, value_parser = duration)]
    time: Option<Duration>,
    /// How many cases to draw.
    #[arg(long)]
    cases: Option<u64>,
    /// Seed of all cases. By default the time; it is printed.
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    jobs: JobsArg,
    /// Time limit for minimizing one difference.
    #[arg(long, default_value = "20s", value_parser = duration)]
    minimize: Duration,
    #[command(flatten)]
    known: KnownArg,
    /// Output format: text, Markdown for a comment on a pull request, JSON, or SARIF for code scanning.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Also write the result to this file; the extension selects the format: `.txt`, `.md`, `.json` or `.sarif`; repeatable.
    #[arg(long, short, value_parser = output)]
    output: Vec<(PathBuf, Format)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Markdown,
    Json,
    Sarif,
}

impl Format {
    fn write(self, comparison: &Comparison) -> anyhow::Result<String> {
        Ok(match self {
            Self::Text => comparison.text(),
            Self::Markdown => comparison.markdown(),
            Self::Json => serde_json::to_string(comparison)? + "\n",
            Self::Sarif => serde_json::to_string_pretty(&comparison.sarif())? + "\n",
        })
    }
}

/// A file to write, and the format that its ending names.
fn output(path: &str) -> Result<(PathBuf, Format), String> {
    let path = PathBuf::from(path);
    let format = match path.extension().and_then(OsStr::to_str) {
        Some("txt") => Format::Text,
        Some("md") => Format::Markdown,
        Some("json") => Format::Json,
        Some("sarif") => Format::Sarif,
        _ => return Err("the extension selects the format: use .txt, .md, .json or .sarif".to_string()),
    };
    Ok((path, format))
}

pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    let stop = stop_on_signal()?;
    let devices = args.common.devices()?;
    let both = [crates(&args.base)?, crates(&args.head)?];
    let with_cuda = devices.iter().any(|device| *device != Device::Cpu);
    let [base, head] = [Sources::of(&both[0], with_cuda)?, Sources::of(&both[1], with_cuda)?];
    let changed = head.changed_since(&base);
    if changed.files.is_empty() {
        return print(args, &shown::unchanged(args, &devices, &both, &changed));
    }
    let specs = [spec(args, "base", &args.base, &devices)?, spec(args, "head", &args.head, &devices)?];
    let (ops, left_out) = ops(args, &specs)?;
    let (plan, reaches) = plan(args, devices, specs, &ops, (&head, &changed))?;
    for spec in &plan.specs {
        let missed = check_canary(&plan.devices, spec.candle.clone())?.missed;
        if !missed.is_empty() {
            eprintln!("missed    {}", missed.join("\nmissed    "));
            return Ok(Exit::CanaryMissed);
        }
    }
    eprintln!("comparing {} regressions, then cases of seed {}", plan.regressions.len(), plan.seed);
    let compared = compare(&plan, &stop, &|found| {
        eprintln!("{:<15} {}", found.change.class.name(), self::changed(&found.case.op, &found.change));
    })?;
    print(args, &shown::comparison(args, store, (&plan, &reaches), &compared, (ops.len(), left_out, changed))?)
}

/// The workers of one side, which are built. Says on the error stream which candle they have.
fn spec(args: &Args, side: &str, named: &str, devices: &[Device]) -> anyhow::Result<WorkerSpec> {
    let spec = WorkerSpec { candle: candle_under_test(named, devices)?, ..args.common.spec() };
    eprintln!("{side:<9} {}", CandleUnderTest::described(spec.candle.as_deref()));
    Ok(spec)
}

/// The ops that both candles have, and the names of those that one lacks.
fn ops(args: &Args, specs: &[WorkerSpec; 2]) -> anyhow::Result<(Vec<&'static Op>, Vec<String>)> {
    let all = matching(&args.ops)?;
    let in_base = present(all.clone(), &args.ops, specs[0].candle.as_deref())?;
    let there = present(in_base, &args.ops, specs[1].candle.as_deref())?;
    let is_there = |op: &Op| there.iter().any(|other| other.name == op.name);
    let left_out = all.iter().filter(|op| !is_there(op)).map(|op| op.name.to_string()).collect();
    Ok((there, left_out))
}

/// The plan, and the change that each op is nearest to. Prints the differences of the sources on standard error.
fn plan(
    args: &Args,
    devices: Vec<Device>,
    specs: [WorkerSpec; 2],
    ops: &[&'static Op],
    (head, changed): (&Sources, &Changed),
) -> anyhow::Result<(Plan, BTreeMap<&'static str, Reach>)> {
    let jobs = args.jobs.number(&devices, false);
    let reaches = reaches(ops, head, changed, &devices, &specs[0], jobs)?;
    let near = reaches.values().filter(|reach| reach.distance <= 1).count();
    let (functions, files) = (count(changed.functions.len(), "function"), count(changed.files.len(), "file"));
    eprintln!("changed   {functions} in {files}; {near} of {} are near, and come first", count(ops.len(), "op"));
    let mut regressions = args.known.regressions()?;
    regressions.retain(|(_, kept)| {
        let runs = |name: &str| ops.iter().any(|op| op.name == name);
        runs(&kept.case.op) && specs.iter().all(|spec| spec.lacks(&kept.case).is_none())
    });
    let plan = Plan {
        order: Order::new(ops, &reaches),
        regressions,
        seed: args.seed.unwrap_or_else(now),
        cases: args.cases,
        time: args.time.or_else(|| args.cases.is_none().then_some(Duration::from_secs(60))),
        jobs,
        specs,
        minimize: args.minimize,
        devices,
    };
    Ok((plan, reaches))
}

/// Prints the comparison, writes the files, and says how the command ends.
fn print(args: &Args, comparison: &Comparison) -> anyhow::Result<Exit> {
    print!("{}", args.format.write(comparison)?);
    for (path, format) in &args.output {
        write_atomically(path, format.write(comparison)?.as_bytes())?;
    }
    Ok(match () {
        () if comparison.note.is_some() => Exit::Clean,
        () if comparison.cases == 0 || comparison.broken > 0 => Exit::Harness,
        () if comparison.needs_a_look() => Exit::Findings,
        () => Exit::Clean,
    })
}
