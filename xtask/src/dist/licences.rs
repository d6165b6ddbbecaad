//! The licences of the crates that the executables are built from, which ask to be passed on with them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::shell::cargo;

/// How files with licences and notices begin.
const NAMES: [&str; 4] = ["LICENSE", "LICENCE", "COPYING", "NOTICE"];

/// Writes a list of all crates with their licences into `folder`, and beside it the files that the crates come with.
pub fn collect(folder: &Path) -> anyhow::Result<()> {
    let mut list = "The crates in these executables, with their licences and sources.\n\n".to_string();
    for (name, (licence, source, manifest)) in crates()? {
        list += &format!("{name}: {licence}, {source}\n");
        let sources = Path::new(&manifest).parent().context("a manifest is in a folder")?;
        for entry in fs::read_dir(sources).with_context(|| format!("cannot read {}", sources.display()))? {
            let entry = entry?;
            let file = entry.file_name().to_string_lossy().to_uppercase();
            if entry.file_type()?.is_file() && NAMES.iter().any(|name| file.starts_with(name)) {
                fs::create_dir_all(folder.join(&name))?;
                fs::copy(entry.path(), folder.join(&name).join(entry.file_name()))?;
            }
        }
    }
    Ok(fs::write(folder.join("crates.txt"), list)?)
}

/// The crates of other people that the workspace uses on this platform: name and version, then licence, repository and path of the
/// manifest.
fn crates() -> anyhow::Result<BTreeMap<String, (String, String, String)>> {
    let mut metadata = cargo();
    metadata.args(["metadata", "--locked", "--offline", "--format-version", "1", "--all-features"]);
    let output =
        metadata.args(["--filter-platform", "x86_64-unknown-linux-gnu"]).output().context("cannot run cargo")?;
    ensure!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let text = |package: &Value, field: &str| package[field].as_str().unwrap_or("not given").to_string();
    let packages = metadata["packages"].as_array().context("no packages")?.iter();
    // The workspace's own crates have no source.
    let foreign = packages.filter(|package| !package["source"].is_null());
    Ok(foreign
        .map(|package| {
            let name = format!("{}-{}", text(package, "name"), text(package, "version"));
            (name, (text(package, "license"), text(package, "repository"), text(package, "manifest_path")))
        })
        .collect())
}
