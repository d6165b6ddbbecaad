//! `snuffer regressions`: runs every regression and compares it with what is expected.

use std::collections::BTreeMap;

use anyhow::Context;

use super::{Common, KnownArg};
use crate::exec::{Build, Deadline, Executor};
use crate::exit_code::Exit;
use crate::ops;
use crate::store::Platform;
use crate::store::regression::{self, Status, surprises};

/// Arguments of `snuffer regressions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    known: KnownArg,
    #[command(flatten)]
    common: Common,
}

/// Runs every regression. Exits with `Findings` if one is not as expected, with `Harness` if there is none.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let all = args.known.read()?;
    let mut executor = Executor::start(&args.common.devices(), Build::Checked, args.common.limits())?;
    let hardware = executor.hardware();
    let mut counts: BTreeMap<Status, usize> = BTreeMap::new();
    let mut surprised = 0;
    for (name, kept) in &all {
        *counts.entry(kept.status).or_default() += 1;
        let op =
            ops::find(&kept.case.op).with_context(|| format!("{name}: this build has no op `{}`", kept.case.op))?;
        let observations = executor.observe(&kept.case, Deadline::Full)?;
        for surprise in surprises(kept, op, &observations, |device| Platform::today(device, hardware.get(&device))) {
            surprised += 1;
            println!("UNEXPECTED  {name}\n            on {}: {}", surprise.device, surprise.what);
            println!("            replay: snuffer replay {}", regression::path(&args.known.folder(), name).display());
        }
    }
    let devices: Vec<String> = executor.hellos().map(|hello| hello.device.to_string()).collect();
    let counts: Vec<String> = counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
    println!("{} regressions ({}) on {}: {surprised} unexpected", all.len(), counts.join(", "), devices.join(", "));
    Ok(match () {
        () if all.is_empty() => Exit::Harness,
        () if surprised > 0 => Exit::Findings,
        () => Exit::Clean,
    })
}
