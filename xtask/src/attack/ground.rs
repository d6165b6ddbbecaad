//! What experiments are made on: the programs, and the good cases, stores and texts that are made bad.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::judge::{Ended, run};
use super::read;
use crate::set_up::{self, Devices, build};
use crate::shell::{cargo, target};

/// No command of an experiment may take longer.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// A case that passes.
pub const PASSING: &str =
    "op = \"tensor.exp\"\n[inputs.x]\ndtype = \"f32\"\nshape = [2]\nvalues = { list = [0.5, 1.0] }\n";

/// What experiments are made on.
pub struct Ground {
    /// The command line.
    pub snuffer: PathBuf,
    /// The program that loads and launches mutants of PTX, if the simulated device is there.
    pub mutants: Option<PathBuf>,
    /// Cases of all kinds.
    pub cases: Vec<String>,
    /// A store with findings and a campaign. `None` only if no experiment needs it.
    pub store: Option<Stored>,
    /// The names of the variables that the code reads.
    pub variables: Vec<String>,
}

/// A store, and the names of its findings.
pub struct Stored {
    pub folder: TempDir,
    pub names: BTreeSet<String>,
}

impl Ground {
    /// A ground with nothing but the command line.
    pub fn of(snuffer: PathBuf) -> Self {
        Self { snuffer, mutants: None, cases: Vec::new(), store: None, variables: Vec::new() }
    }

    /// Builds the programs, reads the cases and hunts for a store.
    pub fn set_up(devices: Devices) -> anyhow::Result<Self> {
        let ready = set_up::everything(devices)?;
        let mut ground = Self::of(target()?.join("debug/snuffer"));
        if ready.toolkit.is_some() {
            // Of the packages that the tests select together: Cargo finds what it has built for those.
            let mut example = cargo();
            example.args(["build", "--locked", "--workspace", "--exclude", "snuffer", "--example", "mutants"]);
            build("the program that launches mutants of PTX", "a minute on a new machine", &mut example)?;
            ground.mutants = Some(target()?.join("debug/examples/mutants"));
        }
        ground.cases = files(Path::new("corpora/regressions"), "case.toml")?
            .iter()
            .map(|path| read(path))
            .collect::<anyhow::Result<_>>()?;
        ground.variables = variables()?;
        let folder = tempfile::tempdir()?;
        let args = ["hunt", "--store", "store", "--device", "cpu", "--ops", "loss.*,op.*", "--cases", "300"];
        let hunt = [&args[..], &["--seed", "1", "--jobs", "2", "--minimize", "300ms"]].concat();
        run(&mut ground.command(folder.path(), &hunt), DEADLINE)?.survived(&[2])?;
        let names = listed(&ground.list(folder.path())?)?;
        ensure!(names.len() > 2, "the hunt found too little");
        ground.store = Some(Stored { folder, names });
        Ok(ground)
    }

    /// The store.
    pub fn stored(&self) -> anyhow::Result<&Stored> {
        self.store.as_ref().context("there is no store")
    }

    /// The command line in `folder`, which holds everything that it writes, also temporary files.
    pub fn command(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(&self.snuffer);
        for variable in ["SNUFFER_FINDINGS", "SNUFFER_DEVICES", "CI", "GITHUB_ACTIONS"] {
            command.env_remove(variable);
        }
        command.args(args).current_dir(folder).env("NO_COLOR", "1").env("TMPDIR", folder);
        command
    }

    /// The findings in `folder/store`, as JSON.
    pub fn list(&self, folder: &Path) -> anyhow::Result<Ended> {
        let list = ["findings", "list", "--json", "--store", "store"];
        run(&mut self.command(folder, &list), DEADLINE)?.survived(&[0, 2, 5])
    }
}

/// The names of the findings in a list.
pub fn listed(list: &Ended) -> anyhow::Result<BTreeSet<String>> {
    let name = |line: &str| -> anyhow::Result<String> {
        let finding: Value = serde_json::from_str(line).context("a line is no JSON")?;
        Ok(finding["name"].as_str().context("a finding has no name")?.to_string())
    };
    list.stdout.lines().map(name).collect()
}

/// The files below `folder` whose names end so, in order.
pub fn files(folder: &Path, end: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            all.extend(files(&entry.path(), end)?);
        } else if kind.is_file() && entry.file_name().to_string_lossy().ends_with(end) {
            all.push(entry.path());
        }
    }
    all.sort();
    Ok(all)
}

/// The variables that the code names, and those that all programs read.
fn variables() -> anyhow::Result<Vec<String>> {
    let mut all: BTreeSet<String> =
        ["CUDA_VISIBLE_DEVICES", "TMPDIR", "HOME", "PATH", "LD_LIBRARY_PATH", "LC_ALL", "COLUMNS", "NO_COLOR"]
            .map(str::to_string)
            .into();
    for folder in ["src", "simulator/src", "simulator/driver/src"] {
        for path in files(Path::new(folder), ".rs")? {
            let text = read(&path)?;
            let quoted = text.split('"').filter(|part| part.starts_with("SNUFFER_"));
            all.extend(
                quoted.filter(|name| !name.contains(|it: char| !it.is_ascii_uppercase() && it != '_')).map(Into::into),
            );
        }
    }
    Ok(all.into_iter().collect())
}
