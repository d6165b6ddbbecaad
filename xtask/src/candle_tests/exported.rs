//! The tests that `snuffer fixes export` writes: each fails on a device without the fixes, and passes there with them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use snuffer_toolkit::Toolkit;

use super::workspace::{self, KERNELS};
use super::{Outcome, run_one};
use crate::shell::target;
use crate::sources::{self, PACKAGES, copy};

/// The executable that has all of them.
const ALL: &str = "exported";
/// The commit without fixes.
const RELEASED: &str = "released";

/// The tests that failed, by the file that they are in.
type Failed = BTreeMap<String, BTreeSet<String>>;

/// Exports all fixes, and runs their tests with the fixes and without. 1 if a test fails with the fixes alone; with `toolkit`, also if one
/// shows no fix on the CPU or the simulated device.
pub fn run(toolkit: Option<&Toolkit>, library: Option<&Path>, logs: &Path) -> anyhow::Result<u8> {
    let root = target()?.join("candle-tests").join(ALL);
    let [fixed, released, patches] = ["fixed", RELEASED, "patches"].map(|name| root.join(name));
    if root.exists() {
        fs::remove_dir_all(&root).with_context(|| format!("cannot remove {}", root.display()))?;
    }
    let packages = [PACKAGES[0], PACKAGES[1], KERNELS];
    let sources = sources::folders(Path::new("."), &packages)?;
    for (package, source) in packages.iter().zip(&sources) {
        copy(source, &fixed.join(package))?;
    }
    for arguments in [&["init", "--quiet"][..], &["add", "--all", "--force"], &["commit", "--quiet", "-m", "candle"]] {
        git(&fixed, arguments)?;
    }
    git(&fixed, &["tag", RELEASED])?;
    let mut export = Command::new(target()?.join("debug/snuffer"));
    ensure!(export.args(["fixes", "export", "--into"]).arg(&patches).status()?.success(), "not all fixes are exported");
    let mut series = files(&patches)?;
    series.sort();
    let series: Vec<_> = series.iter().map(|patch| patch.to_string_lossy()).collect();
    git(&fixed, &[&["am", "--quiet"][..], &series.iter().map(AsRef::as_ref).collect::<Vec<_>>()].concat())?;
    let added = git(&fixed, &["diff", "--name-only", "--diff-filter=A", RELEASED])?;
    for package in PACKAGES {
        gather(&fixed.join(package).join("tests"), &added)?;
    }
    for (package, source) in packages.iter().zip(&sources) {
        copy(&fixed.join(package), &released.join(package))?;
        fs::remove_dir_all(released.join(package).join("src"))?;
        copy(&source.join("src"), &released.join(package).join("src"))?;
    }
    let [with, without] = [fixed, released].map(|candle| failed(&candle, toolkit, library, logs));
    let (with, without) = (with?, without?);
    let broken =
        |(file, failed): (_, &BTreeSet<String>)| failed.difference(&without[file]).cloned().collect::<Vec<_>>();
    let broken: Vec<String> = with.iter().flat_map(broken).collect();
    let silent: Vec<&String> = with.keys().filter(|&file| without[file].is_subset(&with[file])).collect();
    for test in &broken {
        println!("fails with the fixes alone: {test}");
    }
    for file in &silent {
        println!("shows no fix: {file}");
    }
    println!(
        "{} of {} files of tests fail without the fixes and pass with them",
        with.len() - silent.len(),
        with.len()
    );
    Ok(u8::from(!broken.is_empty() || toolkit.is_some() && !silent.is_empty()))
}

/// Keeps the files of `added` in the folder of tests, as modules of one executable: each of its own would take a hundred megabytes.
fn gather(tests: &Path, added: &str) -> anyhow::Result<()> {
    let all = tests.join(ALL);
    fs::create_dir_all(&all)?;
    let mut modules = String::new();
    for path in files(tests)?.into_iter().filter(|path| path.is_file()) {
        let name = path.file_name().context("a file has a name")?.to_string_lossy().into_owned();
        match name.strip_suffix(".rs") {
            Some(module) if added.contains(&format!("/tests/{name}\n")) => {
                modules += &format!("mod {module};\n");
                fs::rename(&path, all.join(&name))?;
            }
            Some(_) => fs::remove_file(&path)?,
            None => {}
        }
    }
    Ok(fs::write(all.join("main.rs"), modules)?)
}

/// Builds the tests of `candle` and runs them, each in a process of its own.
fn failed(candle: &Path, toolkit: Option<&Toolkit>, library: Option<&Path>, logs: &Path) -> anyhow::Result<Failed> {
    let mut failed = Failed::new();
    for binary in workspace::build(toolkit, Some(candle))? {
        for test in binary.tests(library)?.iter().filter(|test| test.binary.ends_with(ALL)) {
            let Some((module, _)) = test.name.split_once("::") else { continue };
            let of_module = failed.entry(module.to_string()).or_default();
            if !matches!(run_one(test, library, logs)?, Outcome::Pass) {
                of_module.insert(test.label());
            }
        }
    }
    ensure!(!failed.is_empty(), "no test was exported");
    Ok(failed)
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// Runs git in `folder`, as somebody, and returns what it prints.
fn git(folder: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let mut git = Command::new("git");
    git.current_dir(folder).args(["-c", "user.name=snuffer", "-c", "user.email=snuffer@example.invalid"]);
    let output = git.args(arguments).output().context("git does not start")?;
    ensure!(output.status.success(), "git {}: {}", arguments[0], String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?)
}
