//! `snuffer bisect --causes`: since which release each cause is there.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use semver::Version;

use super::Args;
use crate::causes::{RootCause, SINCE, Since};
use crate::cli::candle_under_test;
use crate::cli::fixes::{SEEN, own_folder, subjects};
use crate::cli::{KnownArg, StoreArg, UsageError};
use crate::console;
use crate::exec::{Limits, WorkerSpec};
use crate::exit_code::Exit;
use crate::fixes::{Kept, TriedRelease, observe, since};
use crate::store::write_atomically;

/// Runs what shows the causes with each release, and writes since which release each is there.
pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    let parse = |text: &String| {
        Version::parse(text).map_err(|_| UsageError(format!("`{text}` is not a release of candle, such as 0.11.0")))
    };
    let versions = args.versions.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let folder = own_folder()?;
    let causes = RootCause::all().map_err(UsageError)?;
    let known = KnownArg::default().regressions()?;
    let subjects = subjects(&causes, store, known, &[args.device])?;
    let jobs = args.jobs.number(&[args.device], false);
    let mut releases = Vec::new();
    for version in versions {
        let candle = candle_under_test(&version.to_string(), &[args.device])?;
        eprintln!("release   {version}");
        let limits = Limits { deadline: args.timeout, ..Limits::default() };
        let spec = WorkerSpec { candle: candle.clone(), ..limits.into() };
        let kept = Kept::open(Path::new(SEEN), &spec, &[args.device])?;
        let seen = observe(&subjects, &[args.device], &spec, jobs, &kept, &console::bar(subjects.len()))?;
        releases.push(TriedRelease { version, candle, seen });
    }
    let mut all = BTreeMap::new();
    for cause in causes {
        let since = since(&cause, &subjects, &releases, args.device);
        // It may be there longer on another device.
        let known = cause.since.filter(|known| {
            since.as_ref().is_none_or(|new| known.device != new.device && known.release <= new.release)
        });
        let Some(since) = known.or(since) else { continue };
        println!("{:<10}{}", since.release.to_string(), cause.title);
        all.insert(cause.name, since);
    }
    write_atomically(&folder.join(SINCE), text(&all)?.as_bytes())?;
    Ok(Exit::Clean)
}

/// The file about all causes.
fn text(all: &BTreeMap<String, Since>) -> anyhow::Result<String> {
    let mut text = String::from("# The first candle release with each cause. Written by `snuffer bisect --causes`.\n");
    for (name, since) in all {
        write!(text, "\n[{name}]\n{}", toml::to_string_pretty(since)?)?;
    }
    Ok(text)
}
