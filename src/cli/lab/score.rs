//! `snuffer lab score`: the share of small changes in candle's kernels or host code that drawn cases notice.

use crate::cli::hunt::matching;
use crate::cli::interrupts::stop_on_signal;
use crate::cli::{CandleArg, Common, JobsArg, Pattern, UsageError, present};
use crate::console;
use crate::device::Device;
use crate::exit_code::Exit;
use crate::hunt::check_canary;
use crate::score::{Baseline, Plan, Score, Subject, choose, markdown, run as run_mutants};
use crate::settle::versions;

/// Arguments of `snuffer lab score`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    candle: CandleArg,
    /// Change candle's host code, with the worker that `cargo xtask host-mutants` builds, instead of its kernels.
    #[arg(long, conflicts_with = "candle")]
    host: bool,
    /// Only ops whose name contains or matches this, such as `loss.*`; repeatable.
    #[arg(long, value_delimiter = ',')]
    ops: Vec<Pattern>,
    /// How many mutants to make.
    #[arg(long, default_value_t = 300)]
    mutants: usize,
    /// How many cases of each op to draw, and the most to run on one mutant.
    #[arg(long, default_value_t = 60)]
    cases: usize,
    /// Seed of all cases and mutants.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    jobs: JobsArg,
    /// Print the score as JSON instead of Markdown.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let plan = plan(args)?;
    let canary = check_canary(&plan.devices, plan.spec.candle.clone())?;
    if !canary.missed.is_empty() {
        canary.missed.iter().for_each(|missed| eprintln!("{missed}"));
        return Ok(Exit::CanaryMissed);
    }
    let stop = stop_on_signal()?;
    let baseline = Baseline::observe(&plan, &stop, &console::bar(plan.ops.len().saturating_mul(plan.cases)))?;
    let chosen = choose(&baseline.changes, plan.mutants, plan.seed);
    let mutants = run_mutants(&plan, &baseline, &chosen, &stop, &console::bar(chosen.len()))?;
    if mutants.is_empty() {
        eprintln!("snuffer: no mutant was run");
        return Ok(Exit::Harness);
    }
    let changes = || baseline.changes.values().flatten();
    let score = Score {
        versions: versions(plan.spec.candle.as_deref()),
        host: args.host,
        devices: plan.devices.clone(),
        seed: plan.seed,
        ops: plan.ops.len(),
        drawn: baseline.cases.len(),
        cases: plan.cases,
        changeable: baseline.changes.len(),
        changes: changes().count(),
        equivalent: changes().filter(|change| change.equivalent).count(),
        further_rounds: changes().filter(|change| !change.equivalent && change.further_round).count(),
        chosen: chosen.len(),
        mutants,
    };
    if args.json {
        println!("{}", serde_json::to_string(&score)?);
    } else {
        print!("{}", markdown(&score));
    }
    Ok(Exit::Clean)
}

fn plan(args: &Args) -> anyhow::Result<Plan> {
    let devices = args.common.devices()?;
    if !args.host && devices.iter().filter(|device| matches!(device, Device::Sim(_))).count() != 1 {
        let message =
            "score needs exactly one simulated device; use `--device cpu,sim:0`, or `--host` for the host code";
        return Err(UsageError(message.to_string()).into());
    }
    let spec = args.candle.apply(&devices, args.common.spec())?;
    Ok(Plan {
        subject: if args.host { Subject::host()? } else { Subject::Kernels },
        ops: present(matching(&args.ops)?, &args.ops, spec.candle.as_deref())?,
        jobs: args.jobs.number(&devices, false),
        devices,
        seed: args.seed,
        cases: args.cases,
        mutants: args.mutants,
        spec,
    })
}
