//! `snuffer report`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{KnownArg, StoreArg, UsageError, duration};
use crate::device::Device;
use crate::exec::{Limits, Ran, reproduction};
use crate::exit_code::Exit;
use crate::investigate::{RELEASES, Releases, TriedRelease, ablation, bisect};
use crate::ops::{self, Op};
use crate::oracle::{Evidence, Kind};
use crate::outcome::Outcome;
use crate::report::{self, About, Candle, Report, agrees, manifest, outputs, program};
use crate::store::regression::standing;
use crate::store::{Finding, keep_program, write_atomically};

/// Arguments of `snuffer report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The finding's name in `snuffer findings list`.
    name: String,
    #[command(flatten)]
    store: StoreArg,
    /// Where to write the report and the crate that reproduces the finding.
    #[arg(long, default_value = "reports")]
    into: PathBuf,
    /// Where reproductions are built; they share it.
    #[arg(long, default_value = "target/reproductions")]
    target: PathBuf,
    #[command(flatten)]
    known: KnownArg,
    /// Also name the release of candle since which it fails, where it fails on the CPU: builds several of them.
    #[arg(long)]
    since: bool,
    /// How long the program may run.
    #[arg(long, default_value = "10s", value_parser = duration)]
    timeout: Duration,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let finding = args.store.finding(&args.name)?;
    let Some(op) = ops::find(&finding.case.op) else {
        return Err(UsageError(format!("this build has no op `{}`", finding.case.op)).into());
    };
    let limits = Limits { deadline: args.timeout, ..Limits::default() };
    let device = finding.violation.device;
    if device != Device::Cpu && Command::new("nvcc").arg("--version").output().is_err() {
        let how = format!("`cargo xtask report -- {}` finds it", args.name);
        return Err(UsageError(format!("a program for {device} is built by NVIDIA's compiler, nvcc: {how}")).into());
    }
    let folder = args.into.join(&args.name);
    let made = reproduced(op, &finding, device, &folder, args, limits)?;
    let known = args.known.read()?;
    let matters = ablation(&finding, device, limits)?;
    let call = report::call(op, &finding.case);
    let evidence = Evidence::new(op, &finding.case, &finding.observations);
    let seen = finding.observations.iter().find(|seen| seen.device == device);
    let test = seen.and_then(|seen| report::test(&evidence, seen, finding.violation.oracle).ok());
    let torch = report::torch(op, &finding.case).ok();
    let since = if args.since { since(op, &finding, args, limits)? } else { None };
    let report = Report {
        finding: &finding,
        op,
        call: &call,
        program: made.as_ref().map(|(text, ran)| (text.as_str(), ran)).map_err(String::as_str),
        test: test.as_deref(),
        torch: torch.as_deref(),
        matters: &matters,
        since: since.as_deref(),
        regression: standing(&finding, &known).regression(),
    };
    let text = report.markdown();
    std::fs::create_dir_all(&folder)?;
    write_atomically(&folder.join("report.md"), text.as_bytes())?;
    print!("{text}");
    eprintln!("snuffer: written to {}", folder.display());
    Ok(Exit::Findings)
}

/// Since which release of candle the finding fails on the CPU, if it does.
fn since(op: &'static Op, finding: &Finding, args: &Args, limits: Limits) -> anyhow::Result<Option<String>> {
    if !finding.devices().contains(&Device::Cpu) {
        eprintln!("snuffer: it does not fail on the CPU, where releases are tried");
        return Ok(None);
    }
    let versions = RELEASES.map(String::from);
    let releases = Releases { versions: &versions, all: false, device: Device::Cpu, target: &args.target, limits };
    let tell = |tried: &TriedRelease| eprintln!("candle {}: {tried}", tried.version);
    match bisect(op, &finding.case, releases, tell)? {
        Ok(bisected) => Ok(Some(bisected.to_string())),
        Err(why) => {
            eprintln!("snuffer: no releases are tried, as no program can be made of it: {why}");
            Ok(None)
        }
    }
}

/// Writes the crate that reproduces `finding`, once a build of it in a clean process has done what the finding says: its
/// program and what that did. The inner `Err` says why there is none.
fn reproduced(
    op: &Op,
    finding: &Finding,
    device: Device,
    folder: &Path,
    args: &Args,
    limits: Limits,
) -> anyhow::Result<Result<(String, Ran), String>> {
    const NAME: &str = "reproduction";
    let Some(seen) = finding.observations.iter().find(|seen| seen.device == device) else {
        return Ok(Err("the device that it fails on was not observed".to_string()));
    };
    let mut comments = vec![format!("expected: {}", report::promised(&(op.contract)(&finding.case)))];
    if matches!(seen.outcome, Outcome::Returned(_)) && finding.signature.kind == Kind::WrongValue {
        comments.push(finding.violation.detail.clone());
    }
    let about = About { device, comments: &comments, outputs: &outputs(&seen.outcome) };
    let text = match program(op, &finding.case, &about) {
        Ok(text) => text,
        Err(why) => return Ok(Err(why)),
    };
    let manifest = manifest(NAME, &text, device, Candle::TESTED);
    let (trial, target) = (tempfile::tempdir()?, std::path::absolute(&args.target)?);
    keep_program(trial.path(), &manifest, &text)?;
    reproduction::build(trial.path(), &target)?;
    let ran = reproduction::run(&reproduction::executable(&target, NAME), &[], device, limits)?;
    if !agrees(&finding.case, &seen.outcome, &ran) {
        let line = ran.stderr.lines().next().unwrap_or_default();
        return Ok(Err(format!("a program for it did something else: {line}")));
    }
    keep_program(folder, &manifest, &text)?;
    Ok(Ok((text, ran)))
}
