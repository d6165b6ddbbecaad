//! `snuffer bisect --causes`: since which release each cause is there.

use std::path::Path;

use semver::Version;

use super::Args;
use crate::causes::{RootCause, file};
use crate::cli::candle_under_test;
use crate::cli::fixes::{SEEN, own_folder, subjects};
use crate::cli::{KnownArg, StoreArg, UsageError};
use crate::console;
use crate::exec::{Limits, WorkerSpec};
use crate::exit_code::Exit;
use crate::fixes::{Kept, TriedRelease, observe, since};
use crate::store::write_atomically;

/// Runs what shows the causes with each release, and writes to the folder of each cause since which release it is there.
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
    for cause in &causes {
        let Some(since) = since(cause, &subjects, &releases, args.device) else { continue };
        // It may be there longer on another device.
        if cause.since.as_ref().is_some_and(|own| own.device != since.device && own.release <= since.release) {
            continue;
        }
        write_atomically(&file(&folder, &cause.name, "since"), toml::to_string_pretty(&since)?.as_bytes())?;
        println!("{:<10}{}", since.release.to_string(), cause.title);
    }
    Ok(Exit::Clean)
}
