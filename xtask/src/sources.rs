//! The sources of dependencies that Cargo fetched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::shell::cargo;

/// The packages of candle that are copied, to be tested or changed.
pub const PACKAGES: [&str; 2] = ["candle-core", "candle-nn"];

/// The folders of the sources of `packages`, on which the workspace in `root` depends.
pub fn folders(root: &Path, packages: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let mut cargo = cargo();
    // With all that the CUDA backend needs, too.
    cargo.args(["metadata", "--locked", "--format-version=1", "--features=cuda"]).current_dir(root);
    let output = cargo.stderr(Stdio::inherit()).output().context("cannot run `cargo metadata`")?;
    ensure!(output.status.success(), "`cargo metadata` failed");
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let all = metadata["packages"].as_array().context("no packages")?;
    let folder = |name: &&str| {
        let package = all.iter().find(|package| package["name"] == *name)?;
        Some(Path::new(package["manifest_path"].as_str()?).parent()?.to_path_buf())
    };
    packages
        .iter()
        .map(|name| folder(name).with_context(|| format!("the workspace does not depend on {name}")))
        .collect()
}

/// The folders of candle-core and candle-nn.
pub fn candle() -> anyhow::Result<Vec<PathBuf>> {
    folders(Path::new("."), &PACKAGES)
}

/// Copies a folder with all that is in it.
pub fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
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

/// The Rust sources below `folder`, in order.
pub fn rust_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Writes a generated `table`, or with `check` returns 1 and names the `command` that writes it if `file` has something else.
pub fn keep(root: &Path, file: &str, table: &str, check: bool, command: &str) -> anyhow::Result<u8> {
    let path = root.join(file);
    if !check {
        return write_if_new(&path, table).map(|()| 0);
    }
    let is_fresh = fs::read_to_string(&path).is_ok_and(|kept| kept == table);
    if !is_fresh {
        eprintln!("xtask: {file} is not what candle's sources say; run `{command}`");
    }
    Ok(u8::from(!is_fresh))
}
