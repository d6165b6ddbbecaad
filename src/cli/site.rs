//! `snuffer site`: a static site of what was found.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::Context;

use super::{KnownArg, StoreArg, UsageError, coverage};
use crate::exit_code::Exit;
use crate::report::site::{Campaign, Contents, Page, site};
use crate::store::{make_folder, write_atomically};

/// Arguments of `snuffer site`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    store: StoreArg,
    /// The site's folder: a new or an empty one, or that of an earlier site.
    #[arg(long, default_value = "site")]
    into: PathBuf,
    #[command(flatten)]
    known: KnownArg,
}

/// The file that says that a folder is a site of ours, and lists its other files.
const MARKER: &str = ".snuffer-site";

/// Writes the site. `Harness` where something of the store is damaged, and so left out.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let store = args.store.existing()?;
    let mut exit = Exit::Clean;
    let mut left_out = |name: &str, problem: anyhow::Error| {
        exit = Exit::Harness;
        eprintln!("left out: {name}: {}", format!("{problem:#}").lines().next().unwrap_or_default());
    };
    let mut contents = Contents {
        store: args.store.store.display().to_string(),
        regressions: args.known.read()?,
        ..Contents::default()
    };
    for (name, finding) in store.all()? {
        match finding {
            Ok(finding) => contents.findings.push((name, finding)),
            Err(problem) => left_out(&name, problem),
        }
    }
    for (name, record) in store.named_records()? {
        match record.and_then(|record| Ok((record, coverage::of_campaign(&store, &name)?))) {
            Ok((record, coverage)) => contents.campaigns.push(Campaign { name, record, coverage }),
            Err(problem) => left_out(&name, problem),
        }
    }
    let pages = site(&contents).context("cannot make the pages")?;
    write(&args.into, &pages)?;
    let shown = pages.iter().filter(|(path, _)| Path::new(path).extension().is_some_and(|kind| kind == "html")).count();
    println!("{shown} pages: {}", args.into.join("index.html").display());
    Ok(exit)
}

/// Writes the pages, and removes those that an earlier site in the folder had and this one has not.
fn write(folder: &Path, pages: &[Page]) -> anyhow::Result<()> {
    make_folder(folder)?;
    let marker = folder.join(MARKER);
    let earlier = match fs::read_to_string(&marker) {
        Ok(earlier) => earlier,
        Err(_) if fs::read_dir(folder)?.next().is_none() => String::new(),
        Err(_) => {
            let message = format!("{} holds something else than a site: choose another --into", folder.display());
            return Err(UsageError(message).into());
        }
    };
    let mut files: Vec<&str> = pages.iter().map(|(path, _)| path.as_str()).collect();
    files.sort_unstable();
    // First what is to be there, or was: a run that is cut short leaves no file that nobody knows.
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
        // Whoever removed it before has done our work.
        let _ = fs::remove_file(folder.join(file));
    }
    write_atomically(&marker, files.join("\n").as_bytes())
}

/// Whether a line of the marker names a file below the folder: it may have been edited.
fn stays_inside(file: &str) -> bool {
    Path::new(file).components().all(|part| matches!(part, Component::Normal(_)))
}
