//! The sources of candle's releases, as Cargo fetches them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context;

use super::{CRATES, Unusable, write_if_new};
use crate::CANDLE;
use crate::exec::environment;

/// The sources of a crate of the release under test, as Cargo fetched them when the workers were built.
pub fn released(name: &str) -> Result<PathBuf, Unusable> {
    fetched(name, CANDLE)
}

/// The sources of a crate of any release, as Cargo fetched them.
pub fn fetched(name: &str, version: &str) -> Result<PathBuf, Unusable> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).unwrap_or_default();
    let registries = home.join("registry/src");
    let crates = fs::read_dir(&registries).into_iter().flatten().flatten();
    let mut folders = crates.map(|registry| registry.path().join(format!("{name}-{version}")));
    folders.find(|folder| folder.join("src").is_dir()).ok_or_else(|| {
        let place = registries.display();
        Unusable(format!(
            "the sources of {name} {version} are not in {place}; `cargo fetch` downloads those of this release"
        ))
    })
}

/// Lets Cargo fetch all crates of a release, unless it has. `folder` is for a package that depends on them.
pub fn fetch(version: &str, folder: &Path) -> anyhow::Result<()> {
    if version == CANDLE || CRATES.iter().all(|name| fetched(name, version).is_ok()) {
        return Ok(());
    }
    let wanted = CRATES.map(|name| format!("{name} = \"={version}\"\n")).concat();
    let package =
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n";
    write_if_new(&folder.join("Cargo.toml"), format!("{package}{wanted}").as_bytes())?;
    write_if_new(&folder.join("src/lib.rs"), b"")?;
    let mut cargo = environment::cargo();
    cargo.args(["fetch", "--quiet", "--target", "x86_64-unknown-linux-gnu"]).current_dir(folder).stdin(Stdio::null());
    let output = cargo.output().context("cannot run cargo, which fetches candle")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Unusable(format!("candle {version} cannot be fetched\n{}", said.trim())).into());
    }
    Ok(())
}
