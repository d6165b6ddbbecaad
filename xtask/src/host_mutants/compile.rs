//! Builds the worker in a workspace of their own below `target`, and reads what the compiler refuses.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use serde_json::Value;

use super::source::{copies, copy_crates};
use crate::set_up::step;
use crate::toolkit::Toolkit;
use crate::{cargo, target};

/// An error of the compiler.
pub struct CompileError {
    /// What it says.
    pub message: String,
    /// The files and bytes that it is about, the most important first.
    pub places: Vec<(PathBuf, Range<usize>)>,
}

/// Writes the workspace: copies of candle's crates, and a package with the worker.
pub fn prepare(folder: &Path) -> anyhow::Result<()> {
    let workspace = copies(folder);
    let lock = fs::read_to_string("Cargo.lock").context("cannot read Cargo.lock")?;
    let stamp = workspace.join("stamp");
    if !fs::read_to_string(&stamp).is_ok_and(|old| old == lock) {
        if workspace.exists() {
            fs::remove_dir_all(&workspace)?;
        }
        fs::create_dir_all(&workspace).with_context(|| format!("cannot make {}", workspace.display()))?;
        copy_crates(&workspace)?;
        // The same versions as everywhere, so that they are compiled once.
        fs::write(workspace.join("Cargo.lock"), &lock)?;
        fs::write(stamp, &lock)?;
    }
    write_if_new(&workspace.join("Cargo.toml"), &manifest()?)?;
    let main = fs::read_to_string("src/workers/cuda.rs")?;
    write_if_new(&workspace.join("src/main.rs"), &main)?;
    Ok(())
}

/// The manifest of the workspace and its package. It has our profile, so that Cargo does not build dependencies again.
fn manifest() -> anyhow::Result<String> {
    let ours: toml::Table = fs::read_to_string("Cargo.toml")?.parse()?;
    let mut dev = ours["profile"]["dev"].clone();
    let packages = dev["package"].as_table_mut().context("the profile has settings for packages")?;
    packages.retain(|name, _| name != "snuffer-simulator");
    // Switches keep loops from being optimized anyway.
    for name in ["candle-core", "candle-nn"] {
        packages.insert(name.into(), toml::Table::from_iter([("opt-level".to_string(), 1.into())]).into());
    }
    let profile =
        toml::Table::from_iter([("profile".to_string(), toml::Table::from_iter([("dev".to_string(), dev)]).into())]);
    let root = toml::Value::from(std::env::current_dir()?.to_str().context("the path of the project is not UTF-8")?);
    Ok(format!(
        r#"[package]
name = "host-mutants"
version = "0.0.0"
edition = "2024"
publish = false

[workspace]
resolver = "3"

[features]
cuda = ["snuffer/cuda"]

[dependencies]
snuffer = {{ path = {root}, default-features = false, features = ["cli-dependencies", "worker"] }}

[patch.crates-io]
candle-core = {{ path = "candle-core" }}
candle-nn = {{ path = "candle-nn" }}

[[bin]]
name = "snuffer-worker-mutated"
path = "src/main.rs"

{profile}"#
    ))
}

/// Builds the worker, with candle's CUDA backend if there is a toolkit, and returns the errors of the compiler.
pub fn build(folder: &Path, toolkit: Option<&Toolkit>) -> anyhow::Result<Vec<CompileError>> {
    let workspace = copies(folder);
    let mut cargo = cargo();
    cargo.current_dir(&workspace).env("CARGO_TARGET_DIR", target()?).stderr(Stdio::inherit());
    cargo.args(["build", "--message-format=json"]);
    if let Some(toolkit) = toolkit {
        toolkit.equip(&mut cargo)?;
        cargo.args(["--features", "cuda"]);
    }
    let output = step("building the worker with all mutants", "ten minutes the first time", || Ok(cargo.output()?))?;
    if output.status.success() {
        return Ok(Vec::new());
    }
    let mut errors = Vec::new();
    for line in std::str::from_utf8(&output.stdout)?.lines() {
        let message: Value = serde_json::from_str(line)?;
        if message["reason"] == "compiler-message" && message["message"]["level"] == "error" {
            errors.extend(error(&workspace, &message));
        }
    }
    if errors.is_empty() {
        bail!("the worker with all mutants did not build");
    }
    Ok(errors)
}

/// An error in a message of Cargo, if it is about a place.
fn error(workspace: &Path, message: &Value) -> Option<CompileError> {
    let package = Path::new(message["manifest_path"].as_str()?).parent()?;
    let mut places = Vec::new();
    let spans = message["message"]["spans"].as_array()?;
    let (primary, other): (Vec<&Value>, Vec<&Value>) = spans.iter().partition(|span| span["is_primary"] == true);
    for span in primary.into_iter().chain(other) {
        // Where a macro was used, rather than in the macro.
        let mut span = span;
        loop {
            // Relative to the workspace or to the package, whichever the compiler was started in.
            let name = span["file_name"].as_str()?;
            let file = [package, workspace].map(|folder| folder.join(name)).into_iter().find(|file| file.is_file())?;
            let bytes = |name: &str| span[name].as_u64().map(|place| place as usize);
            if file.starts_with(workspace) {
                places.push((file, bytes("byte_start")?..bytes("byte_end")?));
            }
            if span["expansion"].is_null() {
                break;
            }
            span = &span["expansion"]["span"];
        }
    }
    let message = message["message"]["message"].as_str()?.to_string();
    (!places.is_empty()).then_some(CompileError { message, places })
}

/// Writes a file unless it says that already: Cargo builds what is newer than its outputs.
pub fn write_if_new(path: &Path, text: &str) -> anyhow::Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let parent = path.parent().context("a file lies in a folder")?;
    fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
