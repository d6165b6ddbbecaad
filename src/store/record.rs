//! The record of a campaign: its plan, its results, and a line for every case that did not pass.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::{append_alone, make_folder};
use super::sealed;
use crate::coverage::Coverage;
use crate::exec::{CandleUnderTest, EditedKernels, Sanitizer};

/// How many cases had which verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Counts {
    pub cases: u64,
    pub passed: u64,
    /// Those of which only what holds on any input was judged. Older builds counted them as skipped.
    #[serde(default)]
    pub partly: u64,
    pub skipped: u64,
    pub failed: u64,
}

/// Counts of cases by their properties and results.
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
    /// By the dtype of the first float input, or of the first input if none is a float.
    #[serde(default)]
    pub dtypes: BTreeMap<String, Counts>,
    /// By the kinds of views in the inputs.
    #[serde(default)]
    pub views: BTreeMap<String, Counts>,
    /// By outcome, per device.
    #[serde(default)]
    pub outcomes: BTreeMap<String, u64>,
    /// By op, dtype of its main input, device and outcome, such as `tensor.exp f16 sim:0 rejected`.
    #[serde(default)]
    pub calls: BTreeMap<String, u64>,
    /// Cases that made this suite itself panic.
    #[serde(default)]
    pub broken: u64,
    /// Cases that were judged in part or not at all, by reason.
    #[serde(default)]
    pub skips: BTreeMap<String, u64>,
    /// Where a result is not specified, or an `Err` is allowed: cases by the reason, and by device and outcome, such as `cpu rejected`.
    #[serde(default)]
    pub reasons: BTreeMap<String, BTreeMap<String, u64>>,
    /// Failures by signature.
    #[serde(default)]
    pub signatures: BTreeMap<String, u64>,
    /// Violations by rank.
    #[serde(default)]
    pub ranks: BTreeMap<String, u64>,
    /// Failures by signature and the device that the violation is charged to.
    #[serde(default)]
    pub charged: BTreeMap<String, BTreeMap<String, u64>>,
    /// Labelled violations that adversarial cases contain.
    #[serde(default)]
    pub violations: BTreeMap<String, u64>,
    /// Planted canary faults: how many were charged to the right case, and how many there were.
    #[serde(default)]
    pub canaries: BTreeMap<String, (u64, u64)>,
}

impl Tally {
    /// The op, dtype, device and outcome of calls, with their count.
    pub fn each_call(&self) -> impl Iterator<Item = ([&str; 4], u64)> {
        self.calls.iter().map(|(key, &cases)| {
            let mut words = key.splitn(4, ' ');
            ([(); 4].map(|()| words.next().unwrap_or_default()), cases)
        })
    }
}

/// A campaign: its plan, its progress and its tally.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// `snuffer` and candle.
    pub versions: String,
    /// The seed.
    pub seed: u64,
    /// All cases of the shard below this index are done: a resumed campaign starts here.
    pub next: u64,
    /// The shard of the seed's cases, such as `2/3`; all cases if it is empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub shard: String,
    /// Whether its cases were imported instead of drawn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// The ops, by name.
    pub ops: Vec<String>,
    /// The modes, by name.
    pub modes: Vec<String>,
    /// The devices, by name.
    pub devices: Vec<String>,
    /// Whether each case ran on one of the GPUs instead of on all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spread: bool,
    /// The devices that were lost and taken out: they went away or are wedged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// The tool of `compute-sanitizer` under which the workers of GPUs ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sanitizer: Option<Sanitizer>,
    /// The edited kernels that simulated devices ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<EditedKernels>,
    /// The candle that workers had, if it was not the release under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candle: Option<CandleUnderTest>,
    /// When it is over.
    #[serde(default)]
    pub limit: Limit,
    /// Seconds of work so far.
    pub seconds: f64,
    /// Whether it ran to its end.
    pub finished: bool,
    /// The counts.
    pub tally: Tally,
}

/// When a campaign is over: at the first limit that it reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// How many cases there are, those of other shards included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<u64>,
    /// Seconds of work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// A line of `NAME.failures.jsonl`, the list of cases that did not pass next to the campaign's record.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Failure<'a> {
    /// The index of the case in the campaign.
    pub index: u64,
    /// The op; empty if the suite itself panicked.
    pub op: &'a str,
    /// Why it is listed.
    pub verdict: NotPassed,
    /// The signature of a failure, or the reason for a skip.
    pub why: &'a str,
}

/// Why a case is in the list of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NotPassed {
    /// It breaks a promise.
    Fail,
    /// It was not judged.
    Skip,
    /// It made snuffer itself panic.
    Broken,
}

/// How the name of a campaign's list of failures ends.
const FAILURES: &str = ".failures.jsonl";

/// The files of a running campaign. Only one process has them open.
#[derive(Debug)]
pub struct Log {
    record: PathBuf,
    failures: BufWriter<File>,
}

/// Another process runs the campaign.
#[derive(Debug, thiserror::Error)]
#[error("the campaign {0} is running in another process; wait for it, or start a new one without --resume")]
pub struct IsRunning(String);

impl Log {
    /// Opens the record and the failure list of the campaign `name` in `folder`, and appends to an existing list. The error is
    /// [`IsRunning`] while another process has them open.
    pub fn open(folder: &Path, name: &str) -> anyhow::Result<Self> {
        make_folder(folder)?;
        let failures = append_alone(&folder.join(format!("{name}{FAILURES}")))?;
        let failures = failures.ok_or_else(|| IsRunning(name.to_string()))?;
        Ok(Self { record: folder.join(format!("{name}.toml")), failures: BufWriter::new(failures) })
    }

    /// The record as it was saved last.
    pub fn saved(&self) -> anyhow::Result<Record> {
        Record::read(&self.record)
    }

    /// The campaign's name.
    pub fn name(&self) -> String {
        self.record.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Drops the lines of the cases from `next` on, which run again: a process that was killed may have written some. The list is in the
    /// order of the cases.
    pub fn forget_from(&mut self, next: u64) -> anyhow::Result<()> {
        #[derive(Deserialize)]
        struct Line {
            index: u64,
        }
        let file = self.failures.get_mut();
        file.rewind()?;
        let mut kept = 0;
        for line in BufReader::new(&*file).split(b'\n') {
            let line = line?;
            if serde_json::from_slice(&line).is_ok_and(|Line { index }| index >= next) {
                break;
            }
            kept += line.len() as u64 + 1;
        }
        file.set_len(kept).context("cannot write the list of failures")
    }

    /// Appends a case that did not pass to the failure list.
    pub fn failure(&mut self, index: u64, op: &str, verdict: NotPassed, why: &str) -> anyhow::Result<()> {
        let line = serde_json::to_string(&Failure { index, op, verdict, why })?;
        writeln!(self.failures, "{line}").context("cannot write the list of failures; is the disk full?")
    }

    /// Writes everything to disk.
    pub fn save(&mut self, record: &Record) -> anyhow::Result<()> {
        self.failures.flush().context("cannot write the list of failures; is the disk full?")?;
        sealed::write(&self.record, &toml::to_string(record)?)
    }

    /// Adds the coverage of simulated devices to what an earlier run of the campaign saved.
    pub fn save_coverage(&self, mut coverage: Coverage) -> anyhow::Result<()> {
        if coverage.is_empty() {
            return Ok(());
        }
        let path = self.record.with_extension("coverage");
        if path.exists() {
            read_coverage(&path, &mut coverage)?;
        }
        sealed::write(&path, &coverage.to_text())
    }
}

/// Adds the counts in the file at `path`, of a campaign or of a simulated device.
pub fn read_coverage(path: &Path, coverage: &mut Coverage) -> anyhow::Result<()> {
    const ADVICE: &str = "delete it";
    let text = sealed::read(path, ADVICE)?;
    coverage.read(&text).map_err(|why| anyhow!("{} is damaged; {ADVICE}: {why}", path.display()))
}

impl Record {
    /// The names of the campaigns in `folder`, in order of their start: a name begins with its second.
    pub fn names(folder: &Path) -> anyhow::Result<Vec<String>> {
        Self::names_by(folder, ".toml")
    }

    /// The names of the campaigns that have begun, in the same order. One that ended before its first case has no record.
    pub fn begun(folder: &Path) -> anyhow::Result<Vec<String>> {
        Self::names_by(folder, FAILURES)
    }

    fn names_by(folder: &Path, ending: &str) -> anyhow::Result<Vec<String>> {
        let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for entry in entries {
            names.extend(entry?.file_name().to_string_lossy().strip_suffix(ending).map(str::to_string));
        }
        let begun = |name: &String| name.split('-').next().and_then(|second| second.parse::<u64>().ok());
        names.sort_by_cached_key(|name| (begun(name), name.clone()));
        Ok(names)
    }

    /// The record of the campaign in `folder` that began last, and its name.
    pub fn latest(folder: &Path) -> anyhow::Result<Option<(String, Self)>> {
        let Some(name) = Self::names(folder)?.pop() else { return Ok(None) };
        let record = Self::read(&folder.join(format!("{name}.toml")))?;
        Ok(Some((name, record)))
    }

    /// The record in the file at `path`.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        sealed::parse(path, "delete it")
    }
}
