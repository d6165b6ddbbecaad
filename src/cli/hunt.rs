//! `snuffer hunt`: draws and runs cases, and keeps findings.

mod resume;
mod shown;
mod watch;

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::interrupts::Interrupts;
use super::{
    CandleArg, Common, JobsArg, KernelsArg, Pattern, SanitizerArg, StoreArg, UsageError, duration, present, usable,
};
use crate::console::Console;
use crate::device::Device;
use crate::exec::{WorkerSpec, default_devices};
use crate::exit_code::Exit;
use crate::generate::Mode;
use crate::hunt::{Event, Plan, SetUp, Shard, hunt};
use crate::kernels::{Edits, launching};
use crate::ops::{self, Op};
use crate::report::Summary;
use crate::settle::{Settings, versions};
use crate::store::{Limit, Log, Record};

/// Arguments of `snuffer hunt`.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    sanitizer: SanitizerArg,
    #[command(flatten)]
    candle: CandleArg,
    #[command(flatten)]
    kernels: KernelsArg,
    /// Hunt again whenever a file of `--kernels` is saved, until an interrupt.
    #[arg(long, requires = "kernels", conflicts_with = "resume")]
    watch: bool,
    /// Only ops whose name contains or matches this, such as `loss.*`; repeatable.
    #[arg(long, value_delimiter = ',')]
    ops: Vec<Pattern>,
    /// How long to hunt, such as `60s`. By default 60 s, or no limit with `--cases`.
    #[arg(long, value_parser = duration)]
    time: Option<Duration>,
    /// How many cases to run in all shards together.
    #[arg(long)]
    cases: Option<u64>,
    /// Run only every N-th case, from the I-th on: `I/N`. All N shards of a seed run each of its cases once.
    #[arg(long)]
    shard: Option<Shard>,
    /// Seed of all cases. By default the time; it is printed.
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    jobs: JobsArg,
    /// Draw cases that keep the contract, cases that break it, or both.
    #[arg(long, value_enum, default_value_t = Modes::Both)]
    mode: Modes,
    /// Draw valid cases with a large dimension, and judge nothing but the memory and work that they take.
    #[arg(long, conflicts_with_all = ["mode", "resume"])]
    costs: bool,
    /// Resume the campaign of the store that began last, on its own devices, and finish it. With `--cases` it ends after so many
    /// in all, with `--time` after so much more time.
    #[arg(long, conflicts_with_all = ["seed", "ops", "mode", "shard", "sanitizer"])]
    resume: bool,
    /// Time limit for minimizing one finding.
    #[arg(long, default_value = "30s", value_parser = duration)]
    minimize: Duration,
    /// Plant this many canary faults of each kind, and report how many were charged to the right case.
    #[arg(long, default_value_t = 0, conflicts_with = "sanitizer")]
    inject: u64,
    #[command(flatten)]
    shown: Shown,
    /// Start on the available devices, and add the others when standard input ends. Its end is the end of their
    /// set-up.
    #[arg(long, hide = true, conflicts_with_all = ["devices", "resume", "kernels"])]
    while_setting_up: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Modes {
    Valid,
    Adversarial,
    Both,
}

pub use shown::Shown;

pub fn run(args: &Args, named: &StoreArg) -> anyhow::Result<Exit> {
    let interrupts = Interrupts::listen()?;
    let came = interrupts.came();
    let edited = named.of_edited_kernels();
    match &args.kernels.folder {
        Some(folder) if args.watch => watch::run(folder, &interrupts, |stop| once(args, &edited, (&interrupts, stop))),
        Some(_) => once(args, &edited, (&interrupts, came)),
        None => once(args, &args.candle.store(named)?, (&interrupts, came)),
    }
}

/// When a campaign is over if nothing else is said.
const DEFAULT_LIMIT: Limit = Limit { cases: None, seconds: Some(60.0) };

impl Args {
    /// When a campaign that has worked for so many seconds is over, if that is said.
    fn limit(&self, worked: f64) -> Option<Limit> {
        let seconds = self.time.map(|time| worked + time.as_secs_f64());
        (self.cases.is_some() || seconds.is_some()).then_some(Limit { cases: self.cases, seconds })
    }
}

/// One campaign, new or resumed.
fn once(args: &Args, named: &StoreArg, stop: (&Interrupts, &AtomicBool)) -> anyhow::Result<Exit> {
    if args.resume {
        let store = named.existing()?;
        let (log, mut record) = resume::last(&store)?;
        let devices = resume::devices(&args.common.devices.named()?, &record)?;
        let spec = args.kernels.apply(&devices, args.candle.apply(&devices, args.common.spec())?)?;
        resume::check_candle(&record, &spec)?;
        record.limit = resume::limit(args.limit(record.seconds), &record)?;
        resume::announce(&store, &log)?;
        return campaign(
            &plan(args, devices, &record, spec)?,
            None,
            named,
            (log, record),
            &args.shown,
            stop,
            Exit::Clean,
        );
    }
    let devices = args.common.devices()?;
    let edits = args.kernels.compile(&devices)?;
    let kernels = edits.as_ref().and_then(|edits| edits.kernels.clone());
    if edits.is_some() && kernels.is_none() {
        return Ok(Exit::Clean);
    }
    let spec = WorkerSpec { kernels, ..args.candle.apply(&devices, args.common.spec())? };
    let mut record = fresh(args, &spec)?;
    record.spread = args.common.devices.spread();
    record.devices = devices.iter().map(ToString::to_string).collect();
    record.sanitizer = args.sanitizer.tool;
    if let Some(edits) = edits.filter(|_| args.ops.is_empty()) {
        record.ops = launching_ops(args, &devices, &edits)?;
    }
    let plan = plan(args, devices, &record, spec)?;
    let log = log(named, &name(record.seed))?;
    campaign(&plan, args.while_setting_up.then(set_up), named, (log, record), &args.shown, stop, Exit::Clean)
}

/// The files of a new campaign. A store that cannot be written is the user's to change.
fn log(named: &StoreArg, name: &str) -> anyhow::Result<Log> {
    let store = named.open()?;
    Log::open(&store.campaigns(), name)
        .map_err(|problem| UsageError(format!("{problem:#}; name another store with --store")).into())
}

/// The names of the ops that launch a kernel of an edited file.
fn launching_ops(args: &Args, devices: &[Device], edits: &Edits) -> anyhow::Result<Vec<String>> {
    let simulated = devices.iter().find(|device| matches!(device, Device::Sim(_)));
    let jobs = args.jobs.number(devices, false);
    let device = *simulated.expect("compiled for one");
    let ops = launching(&matching(&[])?, &edits.replaced, device, &args.common.spec(), jobs)?;
    if ops.is_empty() {
        return Err(UsageError("no op launches a kernel of the edited files; name ops with --ops".to_string()).into());
    }
    eprintln!("drawing   {} of {} ops, those that launch its kernels", ops.len(), ops::ALL.len() - 1);
    Ok(ops.iter().map(|op| op.name.to_string()).collect())
}

/// The set-up whose end is the end of standard input.
fn set_up() -> SetUp {
    let (ends_with_input, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let _ends = ends_with_input;
        // An input that cannot be read has ended, too.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    });
    SetUp { ended, devices: default_devices }
}

/// Runs `plan` as the campaign with these files and this record, and prints its events and its summary. It ends in order if the
/// flag is set, and from its first case on also when it is interrupted. What was left out `before` makes it incomplete.
pub fn campaign(
    plan: &Plan,
    set_up: Option<SetUp>,
    named: &StoreArg,
    (log, record): (Log, Record),
    shown: &Shown,
    (interrupts, stop): (&Interrupts, &AtomicBool),
    before: Exit,
) -> anyhow::Result<Exit> {
    let (store, known) = (named.open()?, shown.known.failures()?);
    let shell = named.shell().on(plan.spec.candle.as_deref(), plan.spec.kernels.as_deref());
    let console = Console::new(shown.detail(), plan, shell, &known);
    if set_up.is_some() {
        console.sets_up_more();
    }
    let in_order = OnceLock::new();
    let ended = hunt(plan, set_up, &store, record, log, stop, &|event| {
        if matches!(event, Event::CanaryPassed { .. }) {
            in_order.get_or_init(|| interrupts.in_order());
        }
        console.event(&event);
    })?;
    let summary = Summary::new(&[&ended.record], &ended.new, &known);
    shown.write(&ended.record, &summary)?;
    let tally = &ended.record.tally;
    let fails = shown.fails(tally, &summary);
    let misplaced = tally.canaries.values().any(|(right, all)| right != all);
    let exit = match () {
        () if !ended.missed.is_empty() || misplaced => Exit::CanaryMissed,
        () if !ended.record.lost.is_empty() => Exit::DeviceLost,
        () if tally.total.cases == 0 || tally.broken > 0 || before == Exit::Harness => Exit::Harness,
        () if fails => Exit::Findings,
        () => Exit::Clean,
    };
    console.finished(&ended, summary, exit);
    Ok(exit)
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A new campaign's name, which is unique even among campaigns that begin in the same second.
pub fn name(seed: u64) -> String {
    format!("{}-{seed}-{}", now(), std::process::id())
}

/// The record of a new campaign.
fn fresh(args: &Args, spec: &WorkerSpec) -> anyhow::Result<Record> {
    let seed = args.seed.unwrap_or_else(now);
    let modes = match args.mode {
        _ if args.costs => vec![Mode::Large],
        Modes::Valid => vec![Mode::Valid],
        Modes::Adversarial => vec![Mode::Adversarial],
        Modes::Both => Mode::ALL.to_vec(),
    };
    let ops = present(matching(&args.ops)?, &args.ops, spec.candle.as_deref())?;
    Ok(Record {
        limit: args.limit(0.0).unwrap_or(DEFAULT_LIMIT),
        versions: versions(spec.candle.as_deref()),
        candle: spec.candle.as_deref().cloned(),
        kernels: spec.kernels.as_deref().cloned(),
        seed,
        ops: ops.iter().map(|op| op.name.to_string()).collect(),
        modes: modes.iter().map(|mode| mode.name().to_string()).collect(),
        shard: args.shard.map_or_else(String::new, |shard| shard.to_string()),
        ..Record::default()
    })
}

fn plan(args: &Args, devices: Vec<Device>, record: &Record, mut spec: WorkerSpec) -> anyhow::Result<Plan> {
    let find = |name: &String| {
        let missing =
            || UsageError(format!("the campaign hunts `{name}`, but this build has no such op; start a new campaign"));
        ops::find(name).ok_or_else(missing)
    };
    spec.behaviour.sanitizer = usable(record.sanitizer, &devices)?;
    let modes: Vec<Mode> = record.modes.iter().filter_map(|name| Mode::find(name)).collect();
    spec.only_costs = modes == [Mode::Large];
    Ok(Plan {
        ops: record.ops.iter().map(find).collect::<Result<_, _>>()?,
        modes,
        cases_to_run: Vec::new(),
        jobs: args.jobs.number(&devices, record.spread),
        devices,
        spread: record.spread,
        seed: record.seed,
        first: record.next,
        shard: if record.shard.is_empty() { Shard::WHOLE } else { record.shard.parse().map_err(UsageError)? },
        cases: record.limit.cases,
        time: record.limit.seconds.map(|seconds| Duration::from_secs_f64((seconds - record.seconds).max(0.0))),
        spec,
        inject: args.inject,
        settings: Settings { time: args.minimize, ..Settings::default() },
    })
}

/// The ops that one of `patterns` means; without patterns, all except the canary.
pub fn matching(patterns: &[Pattern]) -> anyhow::Result<Vec<&'static Op>> {
    let mut all = ops::all();
    if patterns.is_empty() {
        all.retain(|op| op.name != ops::canary::CANARY.name);
        return Ok(all);
    }
    let mut found: Vec<&'static Op> = Vec::new();
    for pattern in patterns {
        let more = pattern.choose(all.clone(), |op| op.name);
        if more.is_empty() {
            return Err(UsageError(format!("no op matches `{pattern}`; `snuffer ops` lists them")).into());
        }
        let is_new = |op: &&Op| !found.iter().any(|known| known.name == op.name);
        let more: Vec<_> = more.into_iter().filter(is_new).collect();
        found.extend(more);
    }
    Ok(found)
}
