//! `snuffer report`: writes an issue for a finding or a cause, with a crate that reproduces it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::causes::one;
use super::findings::readable;
use super::{KnownArg, StoreArg, UsageError, check_release, duration};
use crate::candles::fixed;
use crate::causes::{RootCause, Sighting, explain};
use crate::device::Device;
use crate::exec::{Limits, Ran, reproduction};
use crate::exit_code::Exit;
use crate::investigate::{RELEASES, Releases, TriedRelease, ablation, bisect};
use crate::ops::{self, Op};
use crate::oracle::Evidence;
use crate::program::{Candle, ProgramOptions, agrees, call, manifest, outputs, program, test, torch};
use crate::report::{Report, Why};
use crate::store::regression::{self, Regression};
use crate::store::{Finding, keep_program, write_atomically};

/// Arguments of `snuffer report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The finding: its name, its id, or a part of its name that no other has. Or a cause, which its plainest finding shows.
    name: String,
    /// Folder for reports and their crates.
    #[arg(long, default_value = "reports")]
    into: PathBuf,
    /// Where the crates are built.
    #[arg(long, default_value = "target/reproductions")]
    target: PathBuf,
    /// Leave out the program: its first build takes minutes.
    #[arg(long)]
    no_program: bool,
    #[command(flatten)]
    known: KnownArg,
    /// Also find the candle release since which it fails on the CPU; builds several releases.
    #[arg(long)]
    since: bool,
    /// Time limit of the program.
    #[arg(long, default_value = "10s", value_parser = duration)]
    timeout: Duration,
}

pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    let causes = RootCause::all().map_err(UsageError)?;
    let Chosen { name, finding, cause, is_asked } = chosen(args, &causes, store)?;
    check_release(&finding)?;
    let op = known_op(&finding)?;
    let limits = Limits { deadline: args.timeout, ..Limits::default() };
    let device = finding.violation.device;
    if device != Device::Cpu && !args.no_program && Command::new("nvcc").arg("--version").output().is_err() {
        let how = format!("run `cargo xtask report -- {name}`");
        let message = format!("a program for {device} needs NVIDIA's compiler, nvcc; {how}, or add --no-program");
        return Err(UsageError(message).into());
    }
    let folder = args.into.join(&name);
    let evidence = Evidence::new(op, &finding.case, &finding.observations);
    let made = if args.no_program {
        Err("no program was built".to_string())
    } else {
        reproduced(&evidence, &finding, device, &folder, args, limits)?
    };
    let since = if args.since { since(op, &finding, args, limits)? } else { None };
    let made = made.as_ref().map(|(text, ran)| (text.as_str(), ran)).map_err(String::as_str);
    let chosen = Chosen { name, finding, cause, is_asked };
    let matters = ablation(&chosen.finding, device, limits)?;
    let text = chosen.text(made, (&matters, since.as_deref()), &args.known.read()?)?;
    write_atomically(&folder.join("report.md"), text.as_bytes())?;
    print!("{text}");
    eprintln!("snuffer: written to {}", folder.display());
    Ok(Exit::Findings)
}

/// What a report is about.
pub struct Chosen<'a> {
    /// The finding's name.
    pub name: String,
    /// The finding.
    pub finding: Finding,
    /// Its cause.
    pub cause: Option<&'a RootCause>,
    /// Whether the cause was asked for, and not the finding.
    pub is_asked: bool,
}

impl Chosen<'_> {
    /// The report, with the program that shows the finding and what that printed, or why there is none; and with the results of the
    /// ablation and of the bisection, if they ran.
    pub fn text(
        &self,
        program: Result<(&str, &Ran), &str>,
        (ablation, since): (&[String], Option<&str>),
        known: &[(String, Regression)],
    ) -> anyhow::Result<String> {
        let Self { finding, cause, is_asked, .. } = self;
        let op = known_op(finding)?;
        let evidence = Evidence::new(op, &finding.case, &finding.observations);
        let device = finding.violation.device;
        let seen = finding.observations.iter().find(|seen| seen.device == device);
        let test = seen.and_then(|seen| test(&evidence, seen, finding.violation.oracle).ok());
        let torch = torch(op, &finding.case).ok();
        let change = match cause.and_then(|cause| Some((cause, cause.fix.as_ref()?))) {
            Some((cause, fix)) => Some(fixed::diff(&[(cause.name.clone(), fix.clone())].into())?),
            None => None,
        };
        let report = Report {
            cause: cause.map(|cause| Why { cause, change: change.as_deref(), is_asked: *is_asked }),
            finding,
            evidence: &evidence,
            call: &call(op, &finding.case),
            program,
            test: test.as_deref(),
            torch: torch.as_deref(),
            ablation,
            since,
            known,
        };
        Ok(report.markdown())
    }
}

/// The op of a finding.
fn known_op(finding: &Finding) -> Result<&'static Op, UsageError> {
    let missing = || UsageError(format!("this build has no op `{}`; use the version that found it", finding.case.op));
    ops::find(&finding.case.op).ok_or_else(missing)
}

/// The finding that is named and its cause, or the cause that is named and the plainest of its findings.
fn chosen<'a>(args: &Args, causes: &'a [RootCause], store: &StoreArg) -> anyhow::Result<Chosen<'a>> {
    let typed = &args.name;
    let cause_of = |finding: &Finding| explain(causes, &Sighting::of(finding)).map_err(UsageError);
    let problem = match store.finding(typed) {
        Ok((name, finding)) => {
            let cause = cause_of(&finding)?;
            return Ok(Chosen { name, finding, cause, is_asked: false });
        }
        Err(problem) => problem,
    };
    let Ok(cause) = one(causes, typed) else { return Err(problem) };
    let findings = if store.path().is_dir() { readable(&store.existing()?)? } else { Vec::new() };
    let Some((name, finding)) = plainest(cause, &causes_of(causes, findings)?) else {
        let how = match plainest_kept(cause, causes, &args.known.read()?)? {
            Some(kept) => {
                let path = regression::path(&args.known.folder(), &kept);
                format!("`snuffer import {}` makes one of its regression", path.display())
            }
            None => format!("`snuffer causes {}` shows what it explains", cause.name),
        };
        return Err(UsageError(format!("no finding of the store has the cause `{}`; {how}", cause.name)).into());
    };
    Ok(Chosen { name, finding, cause: Some(cause), is_asked: true })
}

/// The plainest of the regressions that have this cause.
fn plainest_kept(
    cause: &RootCause,
    causes: &[RootCause],
    known: &[(String, Regression)],
) -> Result<Option<String>, UsageError> {
    let mut its = Vec::new();
    for (name, kept) in known {
        let Some(sighting) = Sighting::kept(kept) else { continue };
        if explain(causes, &sighting).map_err(UsageError)?.is_some_and(|own| own.name == cause.name) {
            its.push((kept.case.complexity(), name));
        }
    }
    Ok(its.into_iter().min().map(|(_, name)| name.clone()))
}

/// A finding with its cause.
pub type Caused<'a> = (String, Finding, Option<&'a RootCause>);

/// Each of `findings` with its cause.
pub fn causes_of(causes: &[RootCause], findings: Vec<(String, Finding)>) -> Result<Vec<Caused<'_>>, UsageError> {
    let caused = |(name, finding): (String, Finding)| {
        let cause = explain(causes, &Sighting::of(&finding)).map_err(UsageError)?;
        Ok((name, finding, cause))
    };
    findings.into_iter().map(caused).collect()
}

/// The plainest finding with this cause.
pub fn plainest(cause: &RootCause, findings: &[Caused]) -> Option<(String, Finding)> {
    let has_it = |(_, _, own): &&Caused| own.is_some_and(|own| own.name == cause.name);
    let its = findings.iter().filter(has_it).min_by_key(|(_, finding, _)| finding.case.complexity());
    its.map(|(name, finding, _)| (name.clone(), finding.clone()))
}

/// The release of candle since which the finding fails on the CPU, if it does.
fn since(op: &'static Op, finding: &Finding, args: &Args, limits: Limits) -> anyhow::Result<Option<String>> {
    if !finding.devices().contains(&Device::Cpu) {
        eprintln!("snuffer: releases are tried on the CPU only, where this finding does not fail");
        return Ok(None);
    }
    let versions = RELEASES.map(String::from);
    let releases =
        Releases { versions: &versions, all: false, device: Device::Cpu, target: &args.target, spec: &limits.into() };
    let tell = |tried: &TriedRelease| eprintln!("candle {}: {tried}", tried.version);
    match bisect(op, &finding.case, releases, tell)? {
        Ok(bisected) => Ok(Some(bisected.to_string())),
        Err(why) => {
            eprintln!("snuffer: no releases are tried, because the case cannot be written as a program: {why}");
            Ok(None)
        }
    }
}

/// Writes the crate that reproduces `finding` if a build of it, in a clean process, does what the finding says. Returns its
/// program and what that did. The inner `Err` says why there is no crate.
fn reproduced(
    evidence: &Evidence,
    finding: &Finding,
    device: Device,
    folder: &Path,
    args: &Args,
    limits: Limits,
) -> anyhow::Result<Result<(String, Ran), String>> {
    const NAME: &str = "reproduction";
    let Some(seen) = finding.observations.iter().find(|seen| seen.device == device) else {
        return Ok(Err("the finding has no observation of the device that it fails on".to_string()));
    };
    let comments = Report::comments(evidence, finding);
    let options = ProgramOptions { device, comments: &comments, outputs: &outputs(&seen.outcome) };
    let text = match program(evidence.op, &finding.case, &options) {
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
        return Ok(Err(format!("the program did something else: {line}")));
    }
    keep_program(folder, &manifest, &text)?;
    Ok(Ok((text, ran)))
}
