//! `snuffer regressions`: runs every regression and compares it with what is expected, or lists them.

use std::collections::BTreeMap;

use anyhow::Context;
use schemars::JsonSchema;
use serde::Serialize;

use super::{CandleArg, Chosen, Common, KernelsArg, KnownArg};
use crate::console::{self, Shell};
use crate::device::Device;
use crate::exec::{Deadline, Executor};
use crate::exit_code::Exit;
use crate::ops;
use crate::oracle::{Rank, Signature};
use crate::store::regression::{self, Regression, Status, failures, signed, surprises};
use crate::store::{Platform, write_atomically};

/// Arguments of `snuffer regressions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    chosen: Chosen,
    /// List them, and run nothing.
    #[arg(long)]
    list: bool,
    /// Print the list as JSON, one object per line.
    #[arg(long, requires = "list")]
    json: bool,
    /// Where a regression fails in the same way, but this version of snuffer signs it in other words, write the new signature into its
    /// file. Run all devices: a signature may say which of them fail.
    #[arg(long, conflicts_with_all = ["list", "kernels", "candle"])]
    sign: bool,
    #[command(flatten)]
    known: KnownArg,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    candle: CandleArg,
    #[command(flatten)]
    kernels: KernelsArg,
}

/// A regression in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listed<'a> {
    /// Its name, which `snuffer replay` takes.
    name: &'a str,
    /// What happens, in a sentence.
    title: &'a str,
    /// Its status.
    #[schemars(extend("enum" = Status::ALL.map(|status| status.to_string())))]
    status: String,
    /// How bad it is; null if it breaks no promise.
    rank: Option<Rank>,
    /// The upstream issue or pull request.
    upstream: Option<&'a str>,
}

/// Prints the regressions, the worst first.
fn list(mut all: Vec<(String, Regression)>, json: bool) -> anyhow::Result<Exit> {
    let rank = |kept: &Regression| kept.signature.as_ref().map(Signature::rank);
    // What breaks no promise comes last.
    all.sort_by_key(|(_, kept)| (rank(kept).is_none(), rank(kept)));
    for (name, kept) in &all {
        let (rank, status) = (rank(kept), kept.status.to_string());
        if json {
            let upstream = kept.upstream.as_deref();
            println!("{}", serde_json::to_string(&Listed { name, title: &kept.title, status, rank, upstream })?);
            continue;
        }
        let upstream = kept.upstream.as_ref().map_or_else(String::new, |upstream| format!(", {upstream}"));
        let what = format!("{status}{upstream}: {}", kept.title);
        println!("{name}\n{}", console::under_a_name(rank, &what));
    }
    if !json {
        println!("{}", counted(&all));
    }
    Ok(Exit::Clean)
}

/// How many regressions there are, and how many of each status.
fn counted(all: &[(String, Regression)]) -> String {
    let mut counts: BTreeMap<Status, usize> = BTreeMap::new();
    for (_, kept) in all {
        *counts.entry(kept.status).or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
    let counts = if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) };
    format!("{}{counts}", console::count(all.len(), "regression"))
}

/// Runs every regression. Exits with `Findings` if one is not as expected, with `Harness` if there is none.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let all = args.chosen.of(args.known.regressions()?)?;
    if args.list {
        return list(all, args.json);
    }
    let devices = args.common.devices()?;
    let spec = args.kernels.apply(&devices, args.candle.apply(&devices, args.common.spec())?)?;
    let shell = Shell::new(None).on(spec.candle.as_deref(), spec.kernels.as_deref());
    let mut executor = Executor::start(&devices, &spec)?;
    let hardware = executor.hardware();
    let platform = |device| Platform::today(device, hardware.get(&device)).with(spec.candle.as_deref());
    let (mut surprised, mut not_run, mut undecided) = (0, 0, 0);
    for (name, kept) in &all {
        let op =
            ops::find(&kept.case.op).with_context(|| format!("{name}: this build has no op `{}`", kept.case.op))?;
        if let Some((candle, lacking)) = spec.lacks(&kept.case) {
            not_run += 1;
            println!("not run     {name}: {candle} lacks `{lacking}`");
            continue;
        }
        let observations = executor.observe(&kept.case, Deadline::Full)?;
        let signed = args.sign.then(|| signed(kept, op, &observations)).flatten();
        if let Some(signed) = &signed {
            write_atomically(&regression::path(&args.known.folder(), name), signed.to_text().as_bytes())?;
            println!(
                "SIGNED      {name}: {}",
                signed.signature.as_ref().map(|signature| signature.site.to_string()).unwrap_or_default()
            );
        }
        let kept = signed.as_ref().unwrap_or(kept);
        let is_silent = |(device, found): &(Device, Vec<Signature>)| kept.is_beyond(*device) && found.is_empty();
        undecided += usize::from(failures(kept, op, &observations).iter().any(is_silent));
        for surprise in surprises(kept, op, &observations, platform) {
            surprised += 1;
            println!("UNEXPECTED  {name}\n            on {}: {}", surprise.device, surprise.what);
            println!("            replay: {}", shell.on_the_same(&format!("replay {}", args.known.to_replay(name))));
        }
    }
    let devices: Vec<String> = executor.hellos().map(|hello| hello.device.to_string()).collect();
    let left_out = if not_run == 0 { String::new() } else { format!(", {not_run} not run") };
    println!("{} on {}: {surprised} unexpected{left_out}", counted(&all), devices.join(", "));
    if undecided > 0 {
        println!("{undecided} undecided: a GPU does not check each access, so it may pass where sim:0 fails");
    }
    Ok(match () {
        () if all.is_empty() => Exit::Harness,
        () if surprised > 0 => Exit::Findings,
        () => Exit::Clean,
    })
}
