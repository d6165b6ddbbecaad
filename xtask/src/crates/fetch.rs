//! The source of a crate, from the registry.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::Value;
use snuffer_toolkit::{install, once};

use super::folder;
use super::list::Listed;
use crate::shell::cargo;
use crate::sources::copy;

/// Copies a crate's source, so that nothing is written into Cargo's registry, and changes what the list says. Returns the copy's folder.
pub fn fetch(listed: &Listed) -> anyhow::Result<PathBuf> {
    let Listed { name, version, packages, edits, suppress, .. } = listed;
    let to = folder()?.join(format!("{name}-{version}"));
    let suppressions = toml::to_string(&BTreeMap::from([("suppress", suppress)]))?;
    once(&to, &format!("{version} {packages:?} {edits:?} {suppressions}"), |to| {
        copy(&source(name, version)?, to)?;
        edits.iter().try_for_each(|edit| edit.apply(to))?;
        if !packages.is_empty() {
            let pypi = to.join("pypi");
            fs::create_dir(&pypi)?;
            install(&pypi, &packages.join("\n"))?;
        }
        // `cargo snuffer` finds it there by itself.
        Ok(fs::write(to.join("snuffer-suppressions.toml"), suppressions)?)
    })?;
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
    ensure!(output.status.success(), "the registry does not provide {name} {version}");
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let found = packages.iter().find(|package| package["name"] == name && package["version"] == version);
    let manifest = found.and_then(|package| package["manifest_path"].as_str());
    let manifest = manifest.with_context(|| format!("Cargo did not fetch {name} {version}"))?;
    Ok(Path::new(manifest).parent().context("a manifest is in a folder")?.to_path_buf())
}
