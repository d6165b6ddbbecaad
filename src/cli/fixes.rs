//! `snuffer fixes`: builds candle with fixes of root causes, writes such a fix, and proves it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::causes::one;
use super::findings::readable;
use super::{Common, JobsArg, KnownArg, StoreArg, UsageError};
use crate::CANDLE;
use crate::candles::fixed::{self, Fixes, digest_of};
use crate::candles::prepare;
use crate::causes::{self, FOLDER, Proof, RootCause, Sighting, file};
use crate::console;
use crate::device::Device;
use crate::exec::Limits;
use crate::exit_code::Exit;
use crate::fixes::{Seen, Subject, observe, proof, record};
use crate::store::regression::Regression;
use crate::store::write_atomically;

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
    /// Write the fix of a cause from an edited copy of candle's crates.
    Record {
        /// The cause.
        #[arg(long)]
        cause: String,
        /// A folder with `candle-core`, `candle-nn` or `candle-kernels`, copied from Cargo's registry and edited.
        checkout: PathBuf,
    },
    /// Run all regressions and findings with fixes and without, and keep what passes and what fails.
    Prove(ProveArgs),
}

/// Arguments of `snuffer fixes prove`.
#[derive(Debug, clap::Args)]
struct ProveArgs {
    /// Only the fixes of these causes, each alone.
    names: Vec<String>,
    /// Prove all fixes together, in one build.
    #[arg(long, conflicts_with = "names")]
    together: bool,
    /// Also prove again what is proven.
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    known: KnownArg,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    jobs: JobsArg,
}

/// The proof of all fixes together, beside the folders of the causes.
const TOGETHER: &str = "together.toml";

pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Build { names, into } => build(&fixed::fixes(names)?, into),
        Command::Record { cause, checkout } => write(cause, checkout),
        Command::Prove(args) => prove(args, store),
    }
}

fn build(fixes: &Fixes, into: &Path) -> anyhow::Result<Exit> {
    if into.exists() {
        return Err(UsageError(format!("{} exists; remove it, or name a new folder with --into", into.display())).into());
    }
    fixed::write(fixes, into)?;
    for (name, fix) in fixes {
        let diff = fixed::diff(&[(name.clone(), fix.clone())].into())?;
        let path = into.join("diffs").join(format!("{name}.diff"));
        write_atomically(&path, diff.as_bytes())?;
        println!("{}", path.display());
    }
    let shown = into.display();
    println!("candle {CANDLE} with {} in {shown}; `--candle {shown}` tests it", console::count(fixes.len(), "fix"));
    Ok(Exit::Clean)
}

fn write(typed: &str, checkout: &Path) -> anyhow::Result<Exit> {
    let Some(folder) = causes::folder() else {
        return Err(UsageError(format!("there is no folder {FOLDER} here; run this in a checkout of snuffer")).into());
    };
    let all = RootCause::all().map_err(UsageError)?;
    let path = file(&folder, &one(&all, typed)?.name, "fix");
    let fix = record(checkout)?;
    write_atomically(&path, fix.to_text().as_bytes())?;
    println!("{}: {}", path.display(), console::count(fix.edit.len(), "edit"));
    Ok(Exit::Clean)
}

/// Proves fixes, and keeps each proof as soon as it is there. `Findings` if one does not hold.
fn prove(args: &ProveArgs, store: &StoreArg) -> anyhow::Result<Exit> {
    let Some(folder) = causes::folder() else {
        return Err(UsageError(format!("there is no folder {FOLDER} here; run this in a checkout of snuffer")).into());
    };
    let causes = RootCause::all().map_err(UsageError)?;
    let (devices, limits) = (args.common.devices()?, args.common.limits());
    let subjects = subjects(&causes, store, args.known.read()?)?;
    let all = fixed::fixes(&args.names)?;
    let todo: Vec<(PathBuf, String, Fixes)> = if args.together {
        vec![(folder.join(TOGETHER), "fixes".to_string(), all)]
    } else {
        let alone = |(name, fix): (String, _)| {
            (file(&folder, &name, "proof"), format!("fixes:{name}"), BTreeMap::from([(name, fix)]))
        };
        all.into_iter().map(alone).collect()
    };
    let jobs = args.jobs.number(&devices, false);
    let run = |limits: Limits| {
        let bar = console::bar(subjects.len());
        observe(&subjects, &devices, limits, jobs, &bar)
    };
    let (mut before, mut holds): (Option<Seen>, bool) = (None, true);
    for (path, what, fixes) in todo {
        let old = std::fs::read_to_string(&path).ok().and_then(|text| toml::from_str::<Proof>(&text).ok());
        if let Some(old) = old.filter(|old| !args.again && is_current(old, &fixes, &devices)) {
            say(&what, &old);
            holds &= old.holds();
            continue;
        }
        let candle = prepare(&what, &devices, None)?;
        let before = match &mut before {
            Some(seen) => seen,
            none => none.insert(run(limits)?),
        };
        let proof = proof(&fixes, &subjects, &devices, before, &run(Limits { candle, ..limits })?)?;
        write_atomically(&path, toml::to_string_pretty(&proof)?.as_bytes())?;
        say(&what, &proof);
        holds &= proof.holds();
    }
    Ok(if holds { Exit::Clean } else { Exit::Findings })
}

/// The regressions that fail, and the findings of the store, if there is one.
fn subjects(causes: &[RootCause], store: &StoreArg, kept: Vec<(String, Regression)>) -> anyhow::Result<Vec<Subject>> {
    let findings = if store.path().is_dir() { readable(&store.existing()?)? } else { Vec::new() };
    let of_release = findings.iter().filter(|(_, finding)| finding.is_of(None, None));
    let found = of_release.map(|(_, finding)| Regression::of(finding));
    let mut subjects: Vec<Subject> = Vec::new();
    for kept in kept.into_iter().map(|(_, kept)| kept).chain(found) {
        let Some(sighting) = Sighting::kept(&kept) else { continue };
        let name = sighting.signature.slug();
        let mut shown = None;
        for cause in causes {
            if shown.is_none() && cause.is_shown_by(&sighting).map_err(UsageError)? {
                shown = Some(cause.name.clone());
            }
        }
        let cause = shown;
        if subjects.iter().all(|other| other.name != name) {
            subjects.push(Subject { name, kept, cause });
        }
    }
    Ok(subjects)
}

fn is_current(proof: &Proof, fixes: &Fixes, devices: &[Device]) -> bool {
    let Proof { candle, fix, devices: own, .. } = proof;
    candle.to_string() == CANDLE && *fix == digest_of(fixes) && devices.iter().all(|device| own.contains(device))
}

fn say(what: &str, proof: &Proof) {
    let Proof { run, mends, leaves, breaks, .. } = proof;
    let word = if proof.holds() { "proven" } else { "OPEN" };
    println!("{word:<8}  {what}: of {run} it mends {}, leaves {}, breaks {}", mends.len(), leaves.len(), breaks.len());
    leaves.iter().for_each(|name| println!("          leaves {name}"));
    breaks.iter().for_each(|name| println!("          breaks {name}"));
}
