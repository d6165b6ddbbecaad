//! The list of crates: what is run of each, and what is known to fail.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

use crate::known::KnownFailure;

/// The list.
pub const FILE: &str = "cargo-snuffer/tests/crates.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "crate")]
    crates: Vec<Listed>,
}

/// A crate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listed {
    /// Its name in the registry.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is, and how it uses CUDA.
    pub about: String,
    /// The subcommand of `cargo snuffer`: `test` or `run`.
    task: Option<String>,
    /// Why it cannot run, in the place of a task.
    cannot: Option<String>,
    /// Options of `cargo snuffer`.
    #[serde(default)]
    pub options: Vec<String>,
    /// Arguments of Cargo.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Packages of `PyPI` that its build needs, each with its hash. They are put into the folder `pypi` of its copy.
    #[serde(default)]
    pub packages: Vec<String>,
    /// What is changed in its copy.
    #[serde(default, rename = "edit")]
    pub edits: Vec<Edit>,
    /// The findings to let pass: entries of a file of suppressions.
    #[serde(default)]
    pub suppress: Vec<toml::Table>,
    /// Variables that it needs.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The failures that are known.
    #[serde(default)]
    pub known: Vec<Known>,
}

/// A change of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    pub file: String,
    /// The text that is replaced. The file has it once.
    from: String,
    to: String,
    /// What that does, and why.
    pub why: String,
}

/// Tests that are known to fail in one way, by one cause.
#[derive(Debug, Deserialize)]
pub struct Known {
    /// Their names; of a program, its own.
    pub tests: Vec<String>,
    /// How they fail, and why.
    #[serde(flatten)]
    failure: toml::Table,
}

/// What to do with a crate.
pub enum What<'a> {
    /// Run this subcommand of `cargo snuffer`.
    Runs(&'a str),
    /// Nothing, for this reason.
    Cannot(&'a str),
}

impl Listed {
    /// What to do with it.
    pub fn what(&self) -> anyhow::Result<What<'_>> {
        match (&self.task, &self.cannot) {
            (Some(task), None) if ["test", "run"].contains(&task.as_str()) => Ok(What::Runs(task)),
            (None, Some(why)) if !why.is_empty() => Ok(What::Cannot(why)),
            _ => bail!("{FILE}: {} needs either a `task`, `test` or `run`, or a reason why it `cannot` run", self.name),
        }
    }

    /// The command, as a user would type it.
    pub fn command(&self) -> String {
        let Ok(What::Runs(task)) = self.what() else { return "cannot run".to_string() };
        let variables = self.environment.iter().map(|(name, value)| format!("{name}={value}"));
        let words = ["cargo".to_string(), "snuffer".to_string(), task.to_string()];
        let given = self.options.iter().chain(&self.arguments).cloned();
        variables.chain(words).chain(given).collect::<Vec<_>>().join(" ")
    }
}

impl Edit {
    /// Changes the file below `folder`.
    pub fn apply(&self, folder: &Path) -> anyhow::Result<()> {
        let Self { file, from, to, .. } = self;
        let path = folder.join(file);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        ensure!(text.matches(from).count() == 1, "{FILE}: {file} of the crate does not contain `{from}` exactly once");
        Ok(fs::write(path, text.replace(from, to))?)
    }
}

impl Known {
    /// Whether it is about this test.
    pub fn is_of(&self, test: &str) -> bool {
        self.tests.iter().any(|name| name == test)
    }

    /// How they fail, and why.
    pub fn failure(&self) -> anyhow::Result<KnownFailure<'_>> {
        KnownFailure::of(&self.failure, FILE)
    }
}

/// Reads the list.
pub fn read() -> anyhow::Result<Vec<Listed>> {
    let text = fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
    let File { crates } = toml::from_str(&text).with_context(|| format!("{FILE} is not valid"))?;
    crates.iter().try_for_each(|listed| listed.what().map(drop))?;
    Ok(crates)
}

#[cfg(test)]
mod tests {
    use super::Edit;

    #[test]
    fn an_edit_is_of_a_text_that_is_there_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("build.rs");
        let edit = |from: &str| {
            std::fs::write(&file, "one two two").expect("writable");
            let (file, from, to) = ("build.rs".to_string(), from.to_string(), "three".to_string());
            Edit { file, from, to, why: String::new() }.apply(folder.path())
        };
        edit("one").expect("it is there once");
        assert_eq!(std::fs::read_to_string(&file).expect("readable"), "three two two");
        for text in ["two", "four"] {
            let error = edit(text).expect_err("it is not there once").to_string();
            assert!(error.contains("build.rs of the crate does not contain"), "{error}");
        }
    }
}
