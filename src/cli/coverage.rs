//! `snuffer coverage`: which kernels and branches a campaign or a corpus reached on a simulated device.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{CandleArg, Common, StoreArg, UsageError, cases};
use crate::coverage::{Coverage, Kernel, Reached};
use crate::device::Device;
use crate::exec::{Deadline, Executor};
use crate::exit_code::Exit;
use crate::store::{Record, Store, read_coverage};

/// Arguments of `snuffer coverage`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Cases, findings or regressions to run, folders of them, or `.coverage` files of simulated devices. By default the
    /// last campaign of the store is shown.
    paths: Vec<PathBuf>,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    candle: CandleArg,
    /// Show each kernel, and the lines of branches that went only one way.
    #[arg(long)]
    kernels: bool,
}

pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    let is_counts = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "coverage");
    let (counts, cases): (Vec<_>, Vec<_>) = args.paths.iter().partition(is_counts);
    let mut coverage = if cases.is_empty() { Coverage::default() } else { run_cases(args, &cases)? };
    for path in counts {
        read_coverage(path, &mut coverage)?;
    }
    let mut of = "these paths".to_string();
    if args.paths.is_empty() {
        let (name, own) = of_last_campaign(store)?;
        (of, coverage) = (format!("campaign {name}"), own);
    }
    if coverage.is_empty() {
        return Err(UsageError("no simulated device executed anything; add `--device sim:0`".to_string()).into());
    }
    print!("candle's kernels that {of} reached\n\n{}", table(&coverage, args.kernels));
    Ok(Exit::Clean)
}

/// The name of the last campaign, and its coverage.
fn of_last_campaign(store: &StoreArg) -> anyhow::Result<(String, Coverage)> {
    let store = store.existing()?;
    let Some((name, _)) = Record::latest(&store.campaigns())? else {
        return Err(
            UsageError("the store has no campaign; name cases to run, or start `snuffer hunt`".to_string()).into()
        );
    };
    let coverage = of_campaign(&store, &name)?;
    Ok((name, coverage))
}

/// The coverage of a campaign; empty if it had no simulated device.
pub(super) fn of_campaign(store: &Store, name: &str) -> anyhow::Result<Coverage> {
    let (path, mut coverage) = (store.campaigns().join(format!("{name}.coverage")), Coverage::default());
    if path.exists() {
        read_coverage(&path, &mut coverage)?;
    }
    Ok(coverage)
}

fn run_cases(args: &Args, paths: &[&PathBuf]) -> anyhow::Result<Coverage> {
    let devices: Vec<Device> =
        args.common.devices()?.into_iter().filter(|device| matches!(device, Device::Sim(_))).collect();
    let mut executor = Executor::start(&devices, &args.candle.apply(&devices, args.common.spec())?)?;
    for path in paths {
        let is_toml = |path: &Path| path.extension().is_some_and(|extension| extension == "toml");
        for path in cases::files(path, is_toml)? {
            let (_, case) = cases::read(&path)?;
            executor.observe(&case, Deadline::Full)?;
        }
    }
    executor.finish()
}

fn table(coverage: &Coverage, each: bool) -> String {
    let mut text = format!("{:<40} {:>11} {:>13} {:>17}\n", "source file", "kernels", "blocks", "branch edges");
    let mut total = (0, 0, Reached::default());
    for (file, names) in &coverage.loaded {
        let kernels: BTreeMap<&str, &Kernel> = coverage
            .kernels
            .iter()
            .filter(|((of, _), _)| of == file)
            .map(|((_, name), one)| (name.as_str(), one))
            .collect();
        let mut sum = Reached::default();
        for kernel in kernels.values() {
            add(&mut sum, kernel.reached());
        }
        text += &row(&crate::run::crate_path(file), kernels.len(), names.len(), sum);
        for (name, kernel) in kernels.iter().filter(|_| each) {
            text += &row(&format!("  {name}"), 1, 1, kernel.reached());
            let one_way = kernel.branches.iter().filter(|(_, on, away)| (*on == 0) != (*away == 0));
            let lines: Vec<String> = one_way.map(|(line, ..)| line.to_string()).collect();
            if !lines.is_empty() {
                text += &format!("    one way only: lines {}\n", lines.join(", "));
            }
        }
        total = (total.0 + kernels.len(), total.1 + names.len(), total.2);
        add(&mut total.2, sum);
    }
    text + &row("total", total.0, total.1, total.2) + "Blocks and edges of launched kernels only.\n"
}

fn add(sum: &mut Reached, more: Reached) {
    sum.blocks += more.blocks;
    sum.all_blocks += more.all_blocks;
    sum.edges += more.edges;
    sum.all_edges += more.all_edges;
}

fn row(name: &str, launched: usize, all: usize, reached: Reached) -> String {
    let of = |some: usize, all: usize| format!("{some}/{all}");
    let Reached { blocks, all_blocks, edges, all_edges } = reached;
    let (kernels, blocks, edges) = (of(launched, all), of(blocks, all_blocks), of(edges, all_edges));
    format!("{name:<40} {kernels:>11} {blocks:>13} {edges:>17}\n")
}
