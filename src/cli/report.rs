//! `snuffer report`: writes an issue for a finding or a cause, with a crate that reproduces it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::fixes::{Commit, Series, series};
use super::kept_tests::KeptTests;
use super::{KnownArg, StoreArg, UsageError, candle_under_test, cases, check_release, duration, intact};
use crate::CANDLE;
use crate::candles::{self, Shared, fixed};
use crate::causes::{KnownFailures, RootCause, Sighting, Symptom, Theme};
use crate::console;
use crate::device::Device;
use crate::examine::{Patience, examine};
use crate::exec::{Executor, Limits, Ran, WorkerSpec, default_devices, environment, reproduction};
use crate::exit_code::Exit;
use crate::investigate::{RELEASES, Releases, TriedRelease, ablation, bisect, telling};
use crate::ops::{self, Contract, Op, own};
use crate::oracle::{Evidence, Need, OracleName, Rank};
use crate::outcome::{Observation, Outcome};
use crate::program::{Agreement, Candle, ProgramOptions, Test, agreement, manifest, outputs, program};
use crate::report::{self, Part, Report, Why};
use crate::settle::{Settings, settle};
use crate::store::regression::Regression;
use crate::store::{Finding, keep_case, keep_program, write_atomically};
use crate::tensor::Tensor;

/// Arguments of `snuffer report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The finding: its name, its id, or a unique part of its name. Or a cause, which its example shows, or else its plainest finding, or
    /// its regression. Or a theme, such as `nan-and-ties`: then the report is about all causes of it.
    name: String,
    /// Folder for reports and their crates.
    #[arg(long, default_value = "reports")]
    into: PathBuf,
    /// Build the program in this folder with a candle of its own, which takes minutes once. By default it is linked with the candle of this build.
    #[arg(long, value_name = "FOLDER")]
    target: Option<PathBuf>,
    /// Omit the program.
    #[arg(long)]
    no_program: bool,
    #[command(flatten)]
    known: KnownArg,
    /// Also find the first candle release in which it fails on the CPU; builds several releases.
    #[arg(long)]
    since: bool,
    /// Also say whether it happens with this candle: a checkout, such as one of its main branch, a release, or a folder of patches.
    #[arg(long, value_name = "WHAT")]
    candle: Option<String>,
    /// Time limit of the program, and of each small case that is run to find the conditions of the failure.
    #[arg(long, default_value = "10s", value_parser = duration)]
    timeout: Duration,
    /// Time limit of finding all conditions.
    #[arg(long, default_value = "2m", value_parser = duration)]
    conditions: Duration,
}

impl Args {
    /// Where programs are built with a candle of their own.
    fn apart(&self) -> &Path {
        self.target.as_deref().unwrap_or(Path::new("target/reproductions"))
    }
}

pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    let known = args.known.failures()?;
    let themes = RootCause::themes().map_err(UsageError)?;
    if let Some(theme) = themes.get(&args.name) {
        return about_theme(args, theme, &known);
    }
    let mut exit = Exit::Clean;
    let limits = Limits { deadline: args.timeout, ..Limits::default() };
    let Chosen { name, finding, cause, is_asked, is_example } = chosen(args, &known, store, limits, &mut exit)?;
    check_release(&finding)?;
    let op = cases::op(&finding.case)?;
    let finding = if is_example { finding } else { telling(&finding, &known.causes, limits)? };
    let device = finding.violation.device;
    // Of ops of its own a program builds none: only their crate has them.
    let builds = !args.no_program && own::brought().is_none();
    if device != Device::Cpu && builds && Command::new("nvcc").arg("--version").output().is_err() {
        let how = format!("run `cargo xtask report -- {name}`");
        let message = format!("a program for {device} needs NVIDIA's compiler, nvcc; {how}, or add --no-program");
        return Err(UsageError(message).into());
    }
    let folder = args.into.join(&name);
    let evidence = Evidence::new(op, &finding.case, &finding.observations);
    let comments = Report::comments(&evidence, &finding, is_asked);
    let made = if args.no_program {
        Err("no program was built".to_string())
    } else {
        reproduced(&evidence, &finding, &comments, &folder, args, limits)?
    };
    let since = if args.since { since(op, &finding, args, limits)? } else { None };
    let elsewhere = args.candle.as_ref().map(|named| elsewhere(named, op, &finding, limits)).transpose()?;
    let tell = |part: &str| eprintln!("varying    {part}");
    // The explanation of a cause says when it happens.
    let ablation = if is_asked { Vec::new() } else { ablation(&finding, limits, args.conditions, &tell)? };
    let change = cause.map(fixed::diff_of).transpose()?.flatten();
    let places = cause.map_or_else(Vec::new, candles::places);
    let report = Report {
        program: made.as_ref().map(|made| (made.text.as_str(), &made.ran)).map_err(String::as_str),
        has_other_values: made.as_ref().is_ok_and(|made| made.agreement == Agreement::OtherValues),
        ablation: &ablation,
        since: since.as_deref(),
        elsewhere: elsewhere.as_deref(),
        cause: cause.map(|cause| Why { cause, places: &places, change: change.as_deref(), is_asked }),
        source,
        ..Report::new(&finding, &evidence, &known)
    };
    let text = report.markdown();
    write_atomically(&folder.join("report.md"), text.as_bytes())?;
    keep_case(&folder, "case", &finding.case)?;
    print!("{text}");
    eprintln!("snuffer: written to {}", folder.display());
    Ok(exit)
}

/// A file of the release under test, if it is on this machine.
fn source(file: &str) -> Option<String> {
    fixed::source(file).ok()
}

/// Writes an issue about all causes of a theme. Notes are no bugs.
fn about_theme(args: &Args, theme: &Theme, known: &KnownFailures) -> anyhow::Result<Exit> {
    let is_its = |cause: &&RootCause| cause.theme == args.name && cause.note.is_none();
    let its: Vec<&RootCause> = RootCause::by_impact(&known.causes).into_iter().filter(is_its).collect();
    let mut tests = KeptTests::start(known)?;
    let bar = console::bar(its.len());
    let with_test = |cause: &&RootCause| {
        bar(&cause.name);
        tests.of(cause)
    };
    let found: Vec<Option<Test>> = its.iter().map(with_test).collect::<Result<_, _>>()?;
    let fixes: Vec<(&RootCause, Option<&Test>)> = its.iter().map(|cause| (*cause, None)).collect();
    let Series { commits, left_out } = series(&fixes, None);
    let part = |(cause, test): (_, Option<Test>)| Part {
        cause,
        places: candles::places(cause),
        test,
        change: commits.iter().find(|commit| commit.cause.name == cause.name).map(Commit::fix),
    };
    let parts: Vec<Part> = its.into_iter().zip(found).map(part).collect();
    for (name, why) in &left_out {
        eprintln!("left out   {name}: {why}");
    }
    let text = report::theme(theme, &parts, source);
    let folder = args.into.join(&args.name);
    write_atomically(&folder.join("report.md"), text.as_bytes())?;
    print!("{text}");
    eprintln!("snuffer: written to {}", folder.display());
    if parts.iter().any(|part| part.change.is_some()) {
        eprintln!("commits    snuffer fixes export --theme {}", args.name);
    }
    Ok(Exit::Clean)
}

/// A program that shows a finding.
struct Made {
    text: String,
    /// What it did.
    ran: Ran,
    /// How far that is what the finding says.
    agreement: Agreement,
}

/// The subject of a report.
struct Chosen<'a> {
    /// The finding's name.
    name: String,
    finding: Finding,
    cause: Option<&'a RootCause>,
    /// True if the cause was asked for, and not the finding.
    is_asked: bool,
    /// True if the case was chosen for people to read, and must stay as it is.
    is_example: bool,
}

/// The finding that is named and its cause. Or the cause that is named, and its example, the plainest of its findings, or what its
/// regression keeps.
fn chosen<'a>(
    args: &Args,
    known: &'a KnownFailures,
    store: &StoreArg,
    limits: Limits,
    exit: &mut Exit,
) -> anyhow::Result<Chosen<'a>> {
    let typed = &args.name;
    let problem = match store.finding(typed) {
        Ok((name, finding)) => {
            let cause = known.cause_of(&Sighting::of(&finding));
            return Ok(Chosen { name, finding, cause, is_asked: false, is_example: false });
        }
        Err(problem) => problem,
    };
    let Ok(cause) = RootCause::named(&known.causes, typed) else { return Err(problem) };
    let is_example = cause.example.is_some();
    let chosen = |name, finding| Chosen { name, finding, cause: Some(cause), is_asked: true, is_example };
    let has_it = |failure: &Sighting| known.cause_of(failure).is_some_and(|own| own.name == cause.name);
    if !is_example && store.path().is_dir() {
        let mut its = intact::findings(&store.existing()?, exit)?;
        its.retain(|(_, finding)| has_it(&Sighting::of(finding)));
        its.sort_by_key(|(_, finding)| (persuasion(cause, finding), finding.case.complexity()));
        if let Some((name, finding)) = its.into_iter().next() {
            return Ok(chosen(name, finding));
        }
    }
    for (_, kept) in known.regressions_of(cause) {
        if let Some(finding) = finding_of(kept, limits)? {
            return Ok(chosen(cause.name.clone(), finding));
        }
    }
    let how = format!("nothing shows the cause `{}` on the devices of this build", cause.name);
    Err(UsageError(format!("{how}; `snuffer causes {}` shows what it explains", cause.name)).into())
}

/// What `kept` keeps, as a finding of today with its very case; `None` if it does not fail on the devices that are built.
fn finding_of(kept: &Regression, limits: Limits) -> anyhow::Result<Option<Finding>> {
    let (Some(op), Some(own)) = (ops::find(&kept.case.op), &kept.signature) else { return Ok(None) };
    let mut executor = Executor::start(&default_devices(), &limits.into())?;
    let found = examine(&mut executor, op, &kept.case, Patience::Full)?.verdict.signatures(op.name);
    // A signature may say which of the devices fail.
    let Some(signature) =
        found.iter().find(|found| own == *found).or_else(|| found.iter().find(|found| own.is_alike(found)))
    else {
        return Ok(None);
    };
    let settings = Settings { attempts: 0, ..Settings::default() };
    Ok(settle(&mut executor, kept.case.clone(), signature, settings)?.finding)
}

/// How well `finding` shows `cause`, the best first: a plain case that is off by a rounding convinces nobody, an infinity looks like an
/// overflow, a symptom or a call that the title does not name needs an explanation, and arguments without a specified result invite a
/// dispute about them.
fn persuasion(cause: &RootCause, finding: &Finding) -> impl Ord + use<> {
    let is_of_gradients = finding.signature.oracle == OracleName::Gradient;
    let has_other_symptom = is_of_gradients != cause.symptom.is_of_gradients();
    let returns = |seen: &Observation| match &seen.outcome {
        Outcome::Returned(returned) => returned.outputs.iter().flat_map(Tensor::floats).any(|x| !x.is_finite()),
        _ => false,
    };
    let looks_like_overflow = cause.symptom != Symptom::NotFinite && finding.observations.iter().any(returns);
    let is_layer = finding.case.op.starts_with("layer.");
    let rounds = finding.signature.needs(Need::Rounding);
    let is_open =
        ops::find(&finding.case.op).is_some_and(|op| matches!(op.contract(&finding.case), Contract::Unspecified(_)));
    (is_open, rounds, looks_like_overflow, has_other_symptom, !cause.names(&finding.case.op), is_layer)
}

/// The release of candle since which the finding fails on the CPU, if it does.
fn since(op: &'static Op, finding: &Finding, args: &Args, limits: Limits) -> anyhow::Result<Option<String>> {
    if !finding.devices().contains(&Device::Cpu) {
        eprintln!("snuffer: releases are tried on the CPU only, where this finding does not fail");
        return Ok(None);
    }
    let versions = RELEASES.map(String::from);
    let releases =
        Releases { versions: &versions, all: false, device: Device::Cpu, target: args.apart(), spec: &limits.into() };
    let tell = |tried: &TriedRelease| eprintln!("candle {}: {tried}", tried.version);
    match bisect(op, &finding.case, releases, tell)? {
        Ok(bisected) => Ok(Some(bisected.to_string())),
        Err(why) => {
            eprintln!("snuffer: no releases are tried, because the case cannot be written as a program: {why}");
            Ok(None)
        }
    }
}

/// How `finding` fares with the candle that `named` names, which is built for it.
fn elsewhere(named: &str, op: &'static Op, finding: &Finding, limits: Limits) -> anyhow::Result<String> {
    let devices = finding.devices();
    let candle = candle_under_test(named, &devices)?;
    let name = candle.as_ref().map_or_else(|| format!("candle {CANDLE}"), ToString::to_string);
    if let Some(lacking) = candle.as_ref().and_then(|candle| candle.lacks(&finding.case)) {
        return Ok(format!("{name}: has no {lacking}"));
    }
    let mut executor = Executor::start(&devices, &WorkerSpec { candle, ..limits.into() })?;
    let verdict = examine(&mut executor, op, &finding.case, Patience::Full)?.verdict;
    let failures = verdict.signatures(op.name);
    let how = match failures.first() {
        _ if failures.iter().any(|failure| failure.is_alike(&finding.signature)) => "fails in the same way".to_string(),
        Some(other) => format!("fails in another way: {other}"),
        None => "does not fail".to_string(),
    };
    Ok(format!("{name}: {how}"))
}

/// Writes the crate that reproduces `finding` if a build of it, in a clean process, does what the finding says. The inner `Err` says why there is no crate.
fn reproduced(
    evidence: &Evidence,
    finding: &Finding,
    comments: &[String],
    folder: &Path,
    args: &Args,
    limits: Limits,
) -> anyhow::Result<Result<Made, String>> {
    const NAME: &str = "reproduction";
    let device = finding.violation.device;
    let Some(seen) = finding.observations.iter().find(|seen| seen.device == device) else {
        return Ok(Err("the finding has no observation of the device that it fails on".to_string()));
    };
    // The result of a costly call is right, and large. candle prints a few of its elements.
    let is_cost = finding.signature.rank() == Rank::Cost;
    let shown = if is_cost { Vec::new() } else { outputs(&seen.outcome) };
    if own::brought().is_some() {
        return Ok(Err("no program was built, because the call is not one of candle's".to_string()));
    }
    let options = ProgramOptions { device, comments, outputs: &shown };
    let text = match program(evidence.op, &finding.case, &options) {
        Ok(text) => text,
        Err(why) => return Ok(Err(why)),
    };
    let manifest = manifest(NAME, &text, device, Candle::TESTED);
    let trial = tempfile::tempdir()?;
    let shared = if args.target.is_none() { Shared::of(&manifest, device)? } else { None };
    let target = if let Some(Shared { manifest, lock }) = shared {
        keep_program(trial.path(), &manifest, &text)?;
        write_atomically(&trial.path().join("Cargo.lock"), &lock)?;
        environment::target()?
    } else {
        let target = std::path::absolute(args.apart())?;
        keep_program(trial.path(), &manifest, &text)?;
        if !target.is_dir() {
            eprintln!("building   candle for programs in {}; this takes minutes, once", target.display());
        }
        target
    };
    reproduction::build(trial.path(), &target)?;
    let ran = reproduction::run(&reproduction::executable(&target, NAME), &[], device, limits)?;
    let agreement = if is_cost && ran.ended && ran.code == Some(0) {
        Agreement::Same
    } else {
        agreement(evidence, &seen.outcome, &ran)
    };
    if agreement == Agreement::Different {
        let printed = ran.stderr.lines().chain(ran.stdout.lines()).find(|line| !line.is_empty());
        let what = printed.map_or_else(|| "printed nothing".to_string(), |line| format!("printed `{line}`"));
        return Ok(Err(format!("its program did something else: it {what}")));
    }
    keep_program(folder, &manifest, &text)?;
    Ok(Ok(Made { text, ran, agreement }))
}
