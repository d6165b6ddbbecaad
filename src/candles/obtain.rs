//! The sources of the candle that somebody names: fetched, read, patched or fixed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use super::crates::{Crates, files};
use super::named::{Named, Origin, patches};
use super::registry::{fetch, released};
use super::{CRATES, Unusable, fixed, write_if_new};
use crate::CANDLE;
use crate::store::lock;

/// The crates of the candle that `named` names. Patches are applied below `folder`, by one process at a time: each
/// begins with the release.
pub fn obtain(named: &Named, folder: &Path) -> anyhow::Result<Crates> {
    let own = folder.join(named.folder());
    let crates = match &named.origin {
        Origin::Release(version) => {
            let version = version.to_string();
            fetch(&version, &own.join("fetch"))?;
            Crates { version, ..Crates::default() }
        }
        Origin::Tree(root) => Crates::read(root)?,
        Origin::Patches(path) => {
            let (_alone, patched) = (lock(&own)?, own.join("patched"));
            apply(&patches(path), &patched)?;
            Crates::read(&patched)?
        }
        Origin::Fixes(names) => {
            let (_alone, patched) = (lock(&own)?, own.join("patched"));
            fixed::write(&fixed::fixes(names)?, &patched)?;
            Crates::read(&patched)?
        }
    };
    Ok(Crates { cudnn: named.cudnn, ..crates })
}

/// Applies `patches` to a copy of the release under test, in `folder`.
fn apply(patches: &[PathBuf], folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    for name in CRATES {
        let from = released(name)?;
        for path in files(&from)? {
            let inside = path.strip_prefix(&from)?;
            write_if_new(&folder.join(name).join(inside), &fs::read(&path)?)?;
        }
    }
    for patch in patches {
        let mut command = Command::new("patch");
        command.args(["-p1", "--batch", "--forward", "--no-backup-if-mismatch", "--input"]).arg(patch);
        let output =
            command.current_dir(folder).stdin(Stdio::null()).output().context("cannot run `patch`; install it")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stdout);
            let tells = |line: &&str| ["FAILED", "find file", "ignored"].iter().any(|word| line.contains(word));
            let why = said.lines().rfind(tells).or(said.lines().next_back()).unwrap_or("it printed nothing");
            return Err(Unusable(format!("{} does not apply to candle {CANDLE}: {why}", patch.display())).into());
        }
    }
    Ok(())
}
