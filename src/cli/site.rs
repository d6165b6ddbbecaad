//! `snuffer site`: writes a static site of a store.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Context;

use super::{KnownArg, StoreArg, UsageError, coverage, intact};
use crate::candles::fixed;
use crate::exit_code::Exit;
use crate::report::site::{Campaign, Contents, Page, site};
use crate::store::{make_folder, write_atomically};

/// Arguments of `snuffer site`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The site's folder: a new or empty one, or that of an earlier site.
    #[arg(long, default_value = "site")]
    into: PathBuf,
    #[command(flatten)]
    known: KnownArg,
}

/// The file that marks a folder as a site and lists its other files.
const MARKER: &str = ".snuffer-site";

/// Writes the site. `Harness` if something in the store is damaged and was left out.
pub fn run(args: &Args, named: &StoreArg) -> anyhow::Result<Exit> {
    let store = named.existing()?;
    let mut exit = Exit::Clean;
    let mut contents =
        Contents { store: named.path().display().to_string(), known: args.known.failures()?, ..Contents::default() };
    contents.findings = intact::findings(&store, &mut exit)?;
    for (name, record) in intact::campaigns(&store, &mut exit)? {
        match coverage::of_campaign(&store, &name) {
            Ok(coverage) => contents.campaigns.push(Campaign { name, record, coverage }),
            Err(problem) => intact::left_out(&format!("{problem:#}"), &mut exit),
        }
    }
    for cause in &contents.known.causes {
        // Where candle's sources are missing, the page names the command that shows the fix.
        if let Ok(Some(fix)) = fixed::diff_of(cause) {
            contents.fixes.insert(cause.name.clone(), fix);
        }
    }
    let pages = site(&contents).context("cannot make the pages")?;
    write(&args.into, &pages)?;
    let shown = pages.iter().filter(|(path, _)| Path::new(path).extension().is_some_and(|kind| kind == "html")).count();
    println!("{shown} pages: {}", args.into.join("index.html").display());
    Ok(exit)
}

/// Writes the pages, and removes pages of an earlier site that this one no longer has.
fn write(folder: &Path, pages: &[Page]) -> anyhow::Result<()> {
    make_folder(folder)?;
    let marker = folder.join(MARKER);
    let earlier = match fs::read_to_string(&marker) {
        Ok(earlier) => earlier,
        Err(_) if fs::read_dir(folder)?.next().is_none() => String::new(),
        Err(_) => {
            let message = format!("{} has files that are not a site; choose another --into", folder.display());
            return Err(UsageError(message).into());
        }
    };
    let mut files: Vec<&str> = pages.iter().map(|(path, _)| path.as_str()).collect();
    files.sort_unstable();
    // The marker first lists new and old files, so that an interrupted run leaves no unlisted file.
    let stale: Vec<&str> = earlier.lines().filter(|file| files.binary_search(file).is_err()).collect();
    write_atomically(&marker, [&files[..], &stale].concat().join("\n").as_bytes())?;
    for (path, content) in pages {
        let path = folder.join(path);
        if fs::read(&path).is_ok_and(|written| written == content.as_bytes()) {
            continue;
        }
        write_atomically(&path, content.as_bytes())?;
    }
    for file in stale.iter().filter(|file| stays_inside(file)) {
        // It may have been removed already.
        let _ = fs::remove_file(folder.join(file));
    }
    write_atomically(&marker, files.join("\n").as_bytes())
}

/// Whether a line of the marker names a file inside the folder: the marker may have been edited.
fn stays_inside(file: &str) -> bool {
    Path::new(file).components().all(|part| matches!(part, Component::Normal(_)))
}
