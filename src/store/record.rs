//! The record that a campaign leaves: what it ran, what came of it, and a line for every case that did not pass.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::write_atomically;
use crate::coverage::Coverage;

/// How many cases had which verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Counts {
    pub cases: u64,
    pub passed: u64,
    pub skipped: u64,
    pub failed: u64,
}

/// Counts by what a case was and what came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// All cases.
    #[serde(default)]
    pub total: Counts,
    /// By op.
    #[serde(default)]
    pub ops: BTreeMap<String, Counts>,
    /// By mode.
    #[serde(default)]
    pub modes: BTreeMap<String, Counts>,
    /// By the dtype of the first float input, else of the first.
    #[serde(default)]
    pub dtypes: BTreeMap<String, Counts>,
    /// By what the views of the inputs do.
    #[serde(default)]
    pub views: BTreeMap<String, Counts>,
    /// By outcome, per device.
    #[serde(default)]
    pub outcomes: BTreeMap<String, u64>,
    /// By op, dtype of its main input, device and outcome, such as `tensor.exp f16 sim:0 rejected`.
    #[serde(default)]
    pub calls: BTreeMap<String, u64>,
    /// Cases that made this suite panic, whatever candle did with them.
    #[serde(default)]
    pub broken: u64,
    /// Skips by reason.
    #[serde(default)]
    pub skips: BTreeMap<String, u64>,
    /// Failures by signature.
    #[serde(default)]
    pub signatures: BTreeMap<String, u64>,
    /// The same by the device that the violation is charged to.
    #[serde(default)]
    pub charged: BTreeMap<String, BTreeMap<String, u64>>,
    /// Labelled violations that were planted.
    #[serde(default)]
    pub violations: BTreeMap<String, u64>,
    /// Planted canary faults: how many were charged to the right case, of how many.
    #[serde(default)]
    pub canaries: BTreeMap<String, (u64, u64)>,
}

impl Tally {
    /// Op, dtype, device and outcome of calls, and how many there were.
    pub fn each_call(&self) -> impl Iterator<Item = ([&str; 4], u64)> {
        self.calls.iter().map(|(key, &cases)| {
            let mut words = key.splitn(4, ' ');
            ([(); 4].map(|()| words.next().unwrap_or_default()), cases)
        })
    }
}

/// A campaign: its plan, how far it came, and its tally.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// `snuffer` and candle.
    pub versions: String,
    /// The seed.
    pub seed: u64,
    /// Every case of the shard below this index is done: a resumed campaign begins here.
    pub next: u64,
    /// Which of the seed's cases are this campaign's, such as `2/3`; all, where it is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub shard: String,
    /// Whether its cases were given and not drawn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// The ops, by name.
    pub ops: Vec<String>,
    /// The modes, by name.
    pub modes: Vec<String>,
    /// The devices, by name.
    pub devices: Vec<String>,
    /// Seconds of work so far.
    pub seconds: f64,
    /// Whether it ended by itself.
    pub finished: bool,
    /// The counts.
    pub tally: Tally,
}

/// A line of the list of cases that did not pass, `NAME.failures.jsonl` beside the campaign's record.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Failure<'a> {
    /// Which case of the campaign.
    pub index: u64,
    /// The op; empty where the suite itself panicked.
    pub op: &'a str,
    /// `fail`, `skip` or `broken`.
    pub verdict: &'a str,
    /// The signature of a failure, the reason of a skip.
    pub why: &'a str,
}

/// The files of a campaign that is running.
#[derive(Debug)]
pub struct Log {
    record: PathBuf,
    failures: BufWriter<File>,
}

impl Log {
    /// Opens the record and the failure list of the campaign `name` in `folder`; an existing list is continued.
    pub fn open(folder: &Path, name: &str) -> anyhow::Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let path = folder.join(format!("{name}.failures.jsonl"));
        let failures = OpenOptions::new().create(true).append(true).open(&path);
        let failures = failures.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { record: folder.join(format!("{name}.toml")), failures: BufWriter::new(failures) })
    }

    /// Notes that the case at `index` did not pass, and why.
    pub fn failure(&mut self, index: u64, op: &str, verdict: &str, why: &str) -> anyhow::Result<()> {
        let line = serde_json::to_string(&Failure { index, op, verdict, why })?;
        writeln!(self.failures, "{line}").context("cannot write the list of failures; is the disk full?")
    }

    /// Writes everything to disk.
    pub fn save(&mut self, record: &Record) -> anyhow::Result<()> {
        self.failures.flush().context("cannot write the list of failures; is the disk full?")?;
        write_atomically(&self.record, toml::to_string(record)?.as_bytes())
    }
}

impl Log {
    /// Adds what simulated devices executed to what an earlier part of the campaign left.
    pub fn save_coverage(&self, mut coverage: Coverage) -> anyhow::Result<()> {
        if coverage.is_empty() {
            return Ok(());
        }
        let path = self.record.with_extension("coverage");
        if let Ok(before) = fs::read_to_string(&path) {
            coverage
                .read(&before)
                .map_err(anyhow::Error::msg)
                .with_context(|| format!("{} is damaged", path.display()))?;
        }
        write_atomically(&path, coverage.to_text().as_bytes())
    }
}

impl Record {
    /// The newest record in `folder` and its name.
    pub fn latest(folder: &Path) -> anyhow::Result<Option<(String, Self)>> {
        let Ok(entries) = fs::read_dir(folder) else { return Ok(None) };
        let mut names = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let modified = fs::metadata(&path)?.modified()?;
                names.push((modified, path));
            }
        }
        let Some((_, path)) = names.into_iter().max() else { return Ok(None) };
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Some((name, Self::read(&path)?)))
    }

    /// The record in the file at `path`.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{} is damaged; delete it", path.display()))
    }
}
