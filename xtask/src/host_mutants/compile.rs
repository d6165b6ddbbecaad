//! Builds the worker in a workspace of their own below `target`, and reads what the compiler refuses.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, bail};
use snuffer_toolkit::Toolkit;

use super::source::{copies, copy_crates};
use crate::compiler::{CompileError, errors, profile};
use crate::set_up::step;
use crate::shell::{cargo, target};
use crate::sources::write_if_new;

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
    // Switches keep loops from being optimized anyway.
    let profile = profile(&ours, &[("candle-core", 1), ("candle-nn", 1)])?;
    let profile = toml::Table::from_iter([("profile".to_string(), profile.into())]);
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
    let errors = errors(&output.stdout, &workspace)?;
    if errors.is_empty() {
        bail!("the worker with all mutants did not build");
    }
    Ok(errors)
}
