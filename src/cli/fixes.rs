//! `snuffer fixes`: builds candle with fixes of root causes, writes such a fix, and proves it.

mod export;
mod patches;

pub(super) use patches::{Commit, Series, series};

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Subcommand;

use super::candle_under_test;
use super::{Common, JobsArg, KnownArg, StoreArg, UsageError};
use crate::CANDLE;
use crate::candles::fixed::{self, Fixes, digest_of};
use crate::causes::{self, FOLDER, Fix, Proof, RootCause, Sighting, file, shown};
use crate::console;
use crate::device::Device;
use crate::exec::{CandleUnderTest, WorkerSpec};
use crate::exit_code::Exit;
use crate::fixes::{Kept, Seen, Subject, broken_together, observe, proof, record, sets};
use crate::store::regression::Regression;
use crate::store::write_atomically;

/// What was seen with each candle.
pub const SEEN: &str = "target/fixes-seen";

/// Arguments of `snuffer fixes`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write copies of candle's crates with fixes, and a diff of each fix.
    Build {
        /// Only the fixes of these causes.
        names: Vec<String>,
        /// The folder, which must be new.
        #[arg(long, default_value = "target/fixes")]
        into: PathBuf,
    },
    /// Write fixes as patches for a checkout of candle, each with its test, for `git am`.
    Export(export::Args),
    /// Write the fix of a cause from an edited copy of candle's crates.
    Record {
        /// The cause.
        #[arg(long)]
        cause: String,
        /// A folder with `candle-core`, `candle-nn` or `candle-kernels`, copied from Cargo's registry and edited.
        checkout: PathBuf,
    },
    /// Run all regressions and findings with fixes and without, and keep what passes and what fails. A few builds of candle, each with half
    /// of the fixes, tell them apart.
    Prove(ProveArgs),
}

/// Arguments of `snuffer fixes prove`.
#[derive(Debug, clap::Args)]
struct ProveArgs {
    /// Only the fixes of these causes.
    names: Vec<String>,
    /// Also prove already proven fixes again.
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    known: KnownArg,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    jobs: JobsArg,
}

pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Build { names, into } => build(&fixed::fixes(names)?, into),
        Command::Export(args) => export::run(args),
        Command::Record { cause, checkout } => write(cause, checkout),
        Command::Prove(args) => prove(args, store),
    }
}

fn build(fixes: &Fixes, into: &Path) -> anyhow::Result<Exit> {
    if into.exists() {
        return Err(
            UsageError(format!("{} exists; remove it, or name a new folder with --into", into.display())).into()
        );
    }
    fixed::write(fixes, into)?;
    for (name, fix) in fixes {
        let diff = fixed::diff(&[(name.clone(), fix.clone())].into())?;
        let path = into.join("diffs").join(format!("{name}.diff"));
        write_atomically(&path, diff.as_bytes())?;
        println!("{}", path.display());
    }
    let (shown, causes) = (into.display(), console::count(fixes.len(), "cause"));
    println!("candle {CANDLE} with the fixes of {causes} in {shown}; `--candle {shown}` tests it");
    Ok(Exit::Clean)
}

fn write(typed: &str, checkout: &Path) -> anyhow::Result<Exit> {
    let folder = own_folder()?;
    let all = RootCause::all().map_err(UsageError)?;
    let path = file(&folder, &RootCause::named(&all, typed).map_err(UsageError)?.name, "fix");
    let fix = record(checkout)?;
    write_atomically(&path, fix.to_text().as_bytes())?;
    println!("{}: {}", path.display(), console::count(fix.edit.len(), "edit"));
    Ok(Exit::Clean)
}

/// Proves the fixes that are not proven, all at once, and keeps the proofs. `Findings` if one does not hold, or if they break something
/// together.
fn prove(args: &ProveArgs, store: &StoreArg) -> anyhow::Result<Exit> {
    let folder = own_folder()?;
    let causes = RootCause::all().map_err(UsageError)?;
    let (devices, spec) = (args.common.devices()?, args.common.spec());
    let all = fixed::fixes(&args.names)?;
    let is_open = |name: &str, fix: &Fix| {
        args.again || kept(&folder, name).is_none_or(|old| !(is_current(&old, name, fix, &devices) && old.holds()))
    };
    let open: Fixes =
        all.iter().filter(|(name, fix)| is_open(name, fix)).map(|(name, fix)| (name.clone(), fix.clone())).collect();
    let together = if open.is_empty() {
        BTreeSet::new()
    } else {
        let subjects = subjects(&causes, store, args.known.regressions()?, &devices)?;
        let jobs = args.jobs.number(&devices, false);
        let run = |candle: Option<Arc<CandleUnderTest>>| {
            let spec = WorkerSpec { candle, ..spec.clone() };
            let kept = Kept::open(Path::new(SEEN), &spec, &devices)?;
            observe(&subjects, &devices, &spec, jobs, &kept, &console::bar(subjects.len()))
        };
        prove_at_once(&open, &causes, &subjects, &devices, &folder, run)?
    };
    let mut holds = together.is_empty();
    for name in all.keys() {
        let proof = kept(&folder, name).ok_or_else(|| UsageError(format!("the proof of {name} is gone")))?;
        say(name, &proof);
        holds &= proof.holds();
    }
    for name in together {
        println!("OPEN      all together break {name}");
    }
    Ok(if holds { Exit::Clean } else { Exit::Findings })
}

/// Proves the fixes `open` by what `run` sees, and keeps the proofs in `folder`. Returns what they break together, and none of them alone.
fn prove_at_once(
    open: &Fixes,
    causes: &[RootCause],
    subjects: &[Subject],
    devices: &[Device],
    folder: &Path,
    run: impl Fn(Option<Arc<CandleUnderTest>>) -> anyhow::Result<Seen>,
) -> anyhow::Result<BTreeSet<String>> {
    let with = |set: &Fixes| {
        let names: Vec<&str> = set.keys().map(String::as_str).collect();
        run(candle_under_test(&format!("fixes:{}", names.join(",")), devices)?)
    };
    let sets = sets(open);
    let before = run(None)?;
    let mut after = Vec::new();
    for (number, set) in sets.iter().enumerate() {
        eprintln!("build     {} of {}, with {} of {} fixes", number + 1, sets.len(), set.len(), open.len());
        after.push(with(set)?);
    }
    let prove = |(name, fix): (&String, &Fix)| {
        let proof = proof((name, fix), causes, &sets, subjects, devices, &before, &after)?;
        keep(folder, name, &proof).map(|()| proof)
    };
    let proofs: Vec<Proof> = open.iter().map(prove).collect::<Result<_, _>>()?;
    if sets.len() == 1 {
        return Ok(BTreeSet::new());
    }
    eprintln!("build     with all {} fixes", open.len());
    Ok(broken_together(subjects, &proofs, &before, &with(open)?))
}

/// The proof of a cause's fix that is kept.
fn kept(folder: &Path, name: &str) -> Option<Proof> {
    toml::from_str(&std::fs::read_to_string(file(folder, name, "proof")).ok()?).ok()
}

fn keep(folder: &Path, name: &str, proof: &Proof) -> anyhow::Result<()> {
    write_atomically(&file(folder, name, "proof"), toml::to_string_pretty(proof)?.as_bytes())
}

/// The folder of causes that is nearest.
pub fn own_folder() -> Result<PathBuf, UsageError> {
    let missing = || UsageError(format!("there is no folder {FOLDER} here; run this in a checkout of snuffer"));
    causes::folder().ok_or_else(missing)
}

/// The regressions that fail, and the findings of the store, if there is one.
pub fn subjects(
    causes: &[RootCause],
    store: &StoreArg,
    kept: Vec<(String, Regression)>,
    devices: &[Device],
) -> anyhow::Result<Vec<Subject>> {
    let findings = if store.path().is_dir() { store.existing()?.readable()? } else { Vec::new() };
    let of_release = findings.iter().filter(|(_, finding)| finding.is_of(None, None));
    let found = of_release.map(|(_, finding)| Regression::of(finding));
    let mut subjects: Vec<Subject> = Vec::new();
    for kept in kept.into_iter().map(|(_, kept)| kept).chain(found) {
        let Some(sighting) = Sighting::kept(&kept) else { continue };
        let name = sighting.signature.slug();
        let on = |&device: &Device| {
            let cause = shown(causes, &Sighting { devices: vec![device], ..sighting.clone() })?;
            Some((device, cause.name.clone()))
        };
        let causes = devices.iter().filter_map(on).collect();
        // Failures of one name may have several causes.
        if subjects.iter().all(|other| (&other.name, &other.causes) != (&name, &causes)) {
            subjects.push(Subject { name, kept, causes });
        }
    }
    Ok(subjects)
}

fn is_current(proof: &Proof, name: &str, fix: &Fix, devices: &[Device]) -> bool {
    let is_of_it = proof.fix == digest_of(&Fixes::from([(name.to_string(), fix.clone())]));
    let Proof { candle, devices: own, .. } = proof;
    candle.to_string() == CANDLE && is_of_it && devices.iter().all(|device| own.contains(device))
}

fn say(what: &str, proof: &Proof) {
    let word = if proof.holds() { "proven" } else { "OPEN" };
    println!("{word:<8}  {what}: {proof}");
    for name in &proof.leaves {
        println!("          leaves {name}");
    }
    for name in &proof.breaks {
        println!("          breaks {name}");
    }
}
