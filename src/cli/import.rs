//! `snuffer import`: runs cases from files, and keeps findings as a hunt does.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::hunt::{Shown, campaign, name};
use super::interrupts::Interrupts;
use super::{CandleArg, Common, JobsArg, StoreArg, UsageError, cases, duration, intact};
use crate::examine::BadId;
use crate::exit_code::Exit;
use crate::generate::Mode;
use crate::hunt::{Plan, Shard};
use crate::settle::{Settings, versions};
use crate::store::{Log, Record};

/// Up to so many cases, `import` says of each what is invalid about it.
const FEW: usize = 10;

/// Arguments of `snuffer import`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files with cases, such as a fuzzer's artifacts or corpus, or folders of them.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    candle: CandleArg,
    #[command(flatten)]
    jobs: JobsArg,
    /// Time limit for minimizing one finding.
    #[arg(long, default_value = "30s", value_parser = duration)]
    minimize: Duration,
    #[command(flatten)]
    shown: Shown,
}

pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    let (mut given, mut invalid, mut complete) = (Vec::new(), Vec::new(), Exit::Clean);
    for path in &args.paths {
        for path in cases::files(path, visible)? {
            match cases::read(&path) {
                Ok((op, case)) => {
                    if let Some(bad) = BadId::find(op, &case) {
                        invalid.push(format!("{}: the call is invalid: {bad}, {}", path.display(), bad.place()));
                    }
                    given.push(case);
                }
                // A fuzzer's folder has files that are no cases. A damaged case must not stop the import, but is missing then.
                Err(problem) if path.extension().is_none_or(|kind| kind != "toml") => {
                    intact::tell(&problem.to_string());
                }
                Err(problem) => intact::left_out(&problem.to_string(), &mut complete),
            }
        }
    }
    if given.is_empty() {
        return Err(UsageError("no file has a case; name the artifacts or the corpus of a fuzzer".to_string()).into());
    }
    // A user asks about a few calls. A fuzzer's corpus is full of invalid ones.
    invalid.iter().filter(|_| given.len() <= FEW).for_each(|line| eprintln!("{line}"));
    let (devices, spread) = (args.common.devices()?, args.common.devices.spread());
    let spec = args.candle.apply(&devices, args.common.spec())?;
    let store = &args.candle.store(store)?;
    let mut ops: Vec<String> = given.iter().map(|case| case.op.clone()).collect();
    ops.sort_unstable();
    ops.dedup();
    let record = Record {
        versions: versions(spec.candle.as_deref()),
        candle: spec.candle.as_deref().cloned(),
        imported: true,
        modes: vec![Mode::Valid.name().to_string()],
        devices: devices.iter().map(ToString::to_string).collect(),
        spread,
        ops,
        ..Record::default()
    };
    let plan = Plan {
        ops: Vec::new(),
        modes: Vec::new(),
        cases_to_run: given,
        jobs: args.jobs.number(&devices, spread),
        devices,
        spread,
        seed: 0,
        first: 0,
        shard: Shard::WHOLE,
        cases: None,
        time: None,
        spec,
        inject: 0,
        settings: Settings { time: args.minimize, ..Settings::default() },
    };
    let log = Log::open(&store.open()?.campaigns(), &name(0))?;
    let interrupts = Interrupts::listen()?;
    campaign(&plan, None, store, (log, record), &args.shown, (&interrupts, interrupts.came()), complete)
}

/// Whether a file of a folder may be a case: a fuzzer gives its files no extension.
fn visible(path: &Path) -> bool {
    path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'))
}
