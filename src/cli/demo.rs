//! `snuffer demo`: a first tour. Each step is another command of `snuffer`, which is shown and then run.

mod tour;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::DevicesArg;
use crate::device::Device;
use crate::exit_code::Exit;
use crate::store::regression::{Expected, Regression};
use crate::store::{Platform, make_folder, write_atomically};
use tour::{Ended, Tour};

/// Arguments of `snuffer demo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    devices: DevicesArg,
    /// Folder for the demo's files. By default a new temporary folder, which is printed.
    #[arg(long)]
    into: Option<PathBuf>,
    /// Do not open the page in a browser.
    #[arg(long)]
    no_open: bool,
}

/// Kept cases of several calls, so that there is something to minimize and to blame; the best one first. They are part of the
/// executable: the demo needs no repository.
const KEPT: [(&str, &str); 2] = [
    (
        "token-id-beyond-vocabulary-in-a-model.toml",
        include_str!("../../corpora/scenarios/token-id-beyond-vocabulary-in-a-model.toml"),
    ),
    (
        "conv1d-classifier-of-four-rows.toml",
        include_str!("../../corpora/scenarios/conv1d-classifier-of-four-rows.toml"),
    ),
];

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let devices = args.devices.all()?;
    let (file, text, title) = kept(&devices)?;
    // Removed again if the tour does not reach its end.
    let mut temporary = None;
    let folder = match &args.into {
        Some(named) => named.as_path(),
        None => {
            let made = tempfile::Builder::new().prefix("snuffer-demo-").tempdir();
            temporary.insert(made.context("cannot make a temporary folder; name a folder with --into")?).path()
        }
    };
    make_folder(folder)?;
    let case = folder.join(file);
    write_atomically(&case, text.as_bytes())?;
    let names: Vec<String> = devices.iter().map(ToString::to_string).collect();
    println!("A tour on {}, with a case that snuffer's corpus keeps:", names.join(" and "));
    println!("  {title}");
    println!("Everything it makes is in {}", folder.display());
    // The commands find the default devices by themselves.
    let devices = (!args.devices.devices.is_empty()).then(|| names.join(","));
    let page = match Tour::new(folder, &case, devices)?.walk() {
        Ok(page) => page,
        Err(error) => {
            let Some(Ended(code)) = error.downcast_ref() else { return Err(error) };
            drop(temporary);
            std::process::exit(*code);
        }
    };
    temporary.map(tempfile::TempDir::keep);
    if !args.no_open && opened(&page) {
        println!("The page is open in your browser.");
    }
    Ok(Exit::Clean)
}

/// The first kept case that fails on one of the devices: its file, text and title.
fn kept(devices: &[Device]) -> anyhow::Result<(&'static str, &'static str, String)> {
    for (file, text) in KEPT {
        let kept = Regression::parse(text).map_err(anyhow::Error::msg).context(file)?;
        let fails = |&device: &Device| kept.expected(&Platform::today(device, None)) == Expected::Fails;
        if devices.iter().any(fails) {
            return Ok((file, text, kept.title));
        }
    }
    anyhow::bail!("none of the demo's cases fails on these devices")
}

/// Opens a page in a browser, if a person watches a desktop.
fn opened(page: &Path) -> bool {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(|name| std::env::var_os(name).is_some());
    let is_watched = std::io::stdout().is_terminal() && (has_desktop || cfg!(target_os = "macos"));
    is_watched && opener::open_browser(page).is_ok()
}
