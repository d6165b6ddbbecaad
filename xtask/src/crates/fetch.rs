//! The source of a crate, from the registry.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::Value;
use snuffer_toolkit::once;

use super::folder;
use super::list::Listed;
use crate::candle_tests::workspace::copy;
use crate::cargo;

/// Copies a crate's source, so that nothing is written into Cargo's registry. Returns the copy's folder.
pub fn fetch(listed: &Listed) -> anyhow::Result<PathBuf> {
    let Listed { name, version, .. } = listed;
    let to = folder()?.join(format!("{name}-{version}"));
    once(&to, version, |to| copy(&source(name, version)?, to))?;
    Ok(to)
}

/// Where Cargo keeps the source, after fetching it as a dependency of an empty package.
fn source(name: &str, version: &str) -> anyhow::Result<PathBuf> {
    let package = folder()?.join("fetch").join(name);
    fs::create_dir_all(package.join("src"))?;
    fs::write(package.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"fetch\"\nedition = \"2024\"\n[workspace]\n[dependencies.{name}]\nversion = \"={version}\"\n\
         default-features = false\n"
    );
    fs::write(package.join("Cargo.toml"), manifest)?;
    let mut cargo = cargo();
    cargo.current_dir(&package).args(["metadata", "--format-version=1", "--filter-platform=x86_64-unknown-linux-gnu"]);
    let output = cargo.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the registry does not give out {name} {version}");
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let found = packages.iter().find(|package| package["name"] == name && package["version"] == version);
    let manifest = found.and_then(|package| package["manifest_path"].as_str());
    let manifest = manifest.with_context(|| format!("Cargo did not fetch {name} {version}"))?;
    Ok(Path::new(manifest).parent().context("a manifest is in a folder")?.to_path_buf())
}
