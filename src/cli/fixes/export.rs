//! `snuffer fixes export`: fixes as patches for a checkout of candle, each with its test.

use std::path::PathBuf;
use std::process::Command;

use super::patches::{Series, series};
use crate::CANDLE;
use crate::causes::RootCause;
use crate::cli::kept_tests::KeptTests;
use crate::cli::{KnownArg, UsageError};
use crate::console;
use crate::exit_code::Exit;
use crate::program::Test;
use crate::store::write_atomically;

/// Arguments of `snuffer fixes export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only the fixes of these causes: names, or unique parts of names.
    names: Vec<String>,
    /// Only the fixes of this theme.
    #[arg(long)]
    theme: Option<String>,
    /// A checkout of candle, for which the patches are made. By default the release under test.
    #[arg(long, value_name = "FOLDER")]
    candle: Option<PathBuf>,
    /// The folder, which must be new.
    #[arg(long, default_value = "target/patches")]
    into: PathBuf,
    #[command(flatten)]
    known: KnownArg,
}

/// Writes the patches, those first that help most people. `Findings` if a fix does not apply.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.into.exists() {
        let advice = "remove it, or name a new folder with --into";
        return Err(UsageError(format!("{} exists; {advice}", args.into.display())).into());
    }
    if let Some(folder) = args.candle.as_ref().filter(|folder| !folder.join("candle-core/src").is_dir()) {
        return Err(
            UsageError(format!("{} is not a checkout of candle: it has no candle-core", folder.display())).into()
        );
    }
    let known = args.known.failures()?;
    let chosen = chosen(args, &known.causes)?;
    let mut tests = KeptTests::start(&known)?;
    let bar = console::bar(chosen.len());
    let with_test = |cause: &'_ RootCause| {
        bar(&cause.name);
        tests.of(cause)
    };
    let found: Vec<Option<Test>> = chosen.iter().copied().map(with_test).collect::<Result<_, _>>()?;
    let with_tests: Vec<(&RootCause, Option<&Test>)> =
        chosen.into_iter().zip(found.iter().map(Option::as_ref)).collect();
    let Series { commits, left_out } = series(&with_tests, args.candle.as_deref());
    let author = author();
    for (number, commit) in (1..).zip(&commits) {
        let path = args.into.join(format!("{number:04}-{}.patch", commit.cause.name));
        write_atomically(&path, commit.patch(&author, (number, commits.len())).as_bytes())?;
        println!("{}{}", path.display(), if commit.has_test() { "" } else { ", without a test" });
    }
    for (name, why) in &left_out {
        println!("left out  {name}: {why}");
    }
    let of = args.candle.as_ref().map_or_else(|| format!("candle {CANDLE}"), |folder| folder.display().to_string());
    let (count, into) = (console::count(commits.len(), "commit"), args.into.display());
    println!("{count} for {of}; in a checkout of it, `git am {into}/*.patch` applies them");
    Ok(if left_out.is_empty() { Exit::Clean } else { Exit::Findings })
}

/// The causes that are asked for and have a fix. Notes are no bugs.
fn chosen<'a>(args: &Args, causes: &'a [RootCause]) -> Result<Vec<&'a RootCause>, UsageError> {
    if let Some(theme) = args.theme.as_ref().filter(|theme| !causes.iter().any(|cause| cause.theme == **theme)) {
        return Err(UsageError(format!("there is no theme `{theme}`; `snuffer causes NAME` shows that of a cause")));
    }
    let named = |name: &String| RootCause::named(causes, name).map_err(UsageError);
    let named: Vec<&RootCause> = args.names.iter().map(named).collect::<Result<_, _>>()?;
    if let Some(cause) = named.iter().find(|cause| cause.fix.is_none()) {
        return Err(UsageError(format!("`{}` has no fix yet", cause.name)));
    }
    let is_meant = |cause: &&RootCause| {
        (named.is_empty() || named.iter().any(|named| named.name == cause.name))
            && args.theme.as_ref().is_none_or(|theme| cause.theme == *theme)
            && cause.fix.is_some()
            && (cause.note.is_none() || !named.is_empty())
    };
    Ok(RootCause::by_impact(causes).into_iter().filter(is_meant).collect())
}

/// Who git says the user is.
fn author() -> String {
    let config = |key: &str| {
        let output = Command::new("git").args(["config", key]).output().ok()?;
        let value = String::from_utf8_lossy(&output.stdout).trim().to_string();
        (!value.is_empty()).then_some(value)
    };
    let name = config("user.name").unwrap_or_else(|| "snuffer".to_string());
    let address = config("user.email").unwrap_or_else(|| "snuffer@example.invalid".to_string());
    format!("{name} <{address}>")
}
