//! The list of crates: what is run of each, and what is known to fail.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, bail};
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
    /// Variables that it needs.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The failures that are known.
    #[serde(default)]
    pub known: Vec<Known>,
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
