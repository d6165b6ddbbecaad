//! The store of findings: one folder per signature.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::files::{lock, make_folder, set_aside, write_atomically};
use super::platform::Platform;
use crate::case::Case;
use crate::device::{Device, Hardware};
use crate::ops;
use crate::oracle::{Evidence, ORACLES, OracleName, Signature, Verdict, Violation};
use crate::outcome::{Observation, Outcome};

/// A minimized case, the promise it breaks, and what every device did with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What identifies it: findings with the same signature are one.
    pub signature: Signature,
    /// The broken promise.
    pub violation: Violation,
    /// The source of the contract.
    pub promise: String,
    /// How reliably it happens.
    pub reproduction: Reproduction,
    /// Where it was found.
    pub origin: Origin,
    /// The minimized case.
    pub case: Case,
    /// What the devices did with it.
    pub observations: Vec<Observation>,
}

/// How reliably a finding happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reproduction {
    /// How often it was run after minimization, the first time in a new process.
    pub tries: u32,
    /// How often it failed with the same signature.
    pub failed: u32,
    /// What a build without debug assertions and overflow checks does.
    pub unchecked: Unchecked,
}

/// What a build without debug assertions and overflow checks does with a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Unchecked {
    /// It fails in the same way.
    Same,
    /// Its outcome, in a line.
    Other(String),
    /// Why it was not run.
    NotRun(String),
}

const SAME: &str = "the same";
const NOT_RUN: &str = "not run: ";

impl From<String> for Unchecked {
    fn from(text: String) -> Self {
        match text.strip_prefix(NOT_RUN) {
            Some(why) => Self::NotRun(why.to_string()),
            None if text == SAME => Self::Same,
            None => Self::Other(text),
        }
    }
}

impl From<Unchecked> for String {
    fn from(unchecked: Unchecked) -> Self {
        unchecked.to_string()
    }
}

impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same => f.write_str(SAME),
            Self::Other(outcome) => f.write_str(outcome),
            Self::NotRun(why) => write!(f, "{NOT_RUN}{why}"),
        }
    }
}

/// Where a finding comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// `snuffer` and candle.
    pub versions: String,
    /// The hardware of each CUDA device.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hardware: BTreeMap<Device, Hardware>,
    /// The campaign's seed.
    pub seed: u64,
    /// The case's index in the campaign.
    pub index: u64,
    /// How many candidates the minimizer tried.
    pub attempts: usize,
    /// Whether nothing simpler fails; false if the minimizer ran out of time.
    pub minimal: bool,
}

impl Finding {
    /// The devices whose own observation shows the same violation, or the device that the violation names if there are none.
    pub fn devices(&self) -> Vec<Device> {
        let evidence = ops::find(&self.case.op).map(|op| Evidence::new(op, &self.case, &self.observations));
        let oracle = ORACLES.iter().find(|oracle| oracle.name == self.signature.oracle);
        let judged = evidence.as_ref().zip(oracle);
        let shows = |seen: &&Observation| {
            judged.is_some_and(|(evidence, oracle)| match (oracle.judge)(evidence, seen) {
                Verdict::Fail(violation) => violation.kind == self.signature.kind,
                Verdict::Pass | Verdict::Skip(_) => false,
            })
        };
        let devices: Vec<Device> = self.observations.iter().filter(shows).map(|seen| seen.device).collect();
        if devices.is_empty() { vec![self.violation.device] } else { devices }
    }

    /// The file and line of the tested release at which it fails, or the kernel, where something names it.
    pub fn place(&self) -> Option<&str> {
        let seen = self.observations.iter().find(|seen| seen.device == self.violation.device)?;
        let reported = seen.device_reports.reports.first().filter(|_| self.signature.oracle == OracleName::Checker);
        match &seen.outcome {
            _ if reported.is_some() => reported.map(|report| report.place.as_str()),
            Outcome::Panicked(panic) => Some(&panic.place),
            Outcome::Faulted(fault) => Some(&fault.place),
            _ => None,
        }
    }

    /// The platform on which it fails.
    pub fn platform(&self) -> Platform {
        let device = self.violation.device;
        let candle = version(&self.origin.versions, "candle-core");
        let today = Platform::today(device, self.origin.hardware.get(&device));
        Platform { candle: candle.and_then(|release| release.parse().ok()).unwrap_or(today.candle), ..today }
    }
}

/// The version of `of` in `versions`, such as `snuffer 0.1.0, candle-core 0.11.1`.
pub fn version<'a>(versions: &'a str, of: &str) -> Option<&'a str> {
    versions.split(", ").find_map(|one| one.strip_prefix(of)?.strip_prefix(' '))
}

/// A folder of findings.
#[derive(Debug, Clone)]
pub struct Store {
    pub(super) root: PathBuf,
}

/// The file in each finding's folder.
pub(super) const FILE: &str = "finding.toml";

impl Store {
    /// Opens the store at `root`, and creates it if it is missing.
    pub fn open(root: &Path) -> anyhow::Result<Self> {
        make_folder(root)?;
        Ok(Self { root: root.to_path_buf() })
    }

    /// The folder of the finding with this signature.
    pub fn folder(&self, signature: &Signature) -> PathBuf {
        self.root.join(signature.slug())
    }

    /// Whether the store has a readable finding with this signature.
    pub fn has(&self, signature: &Signature) -> bool {
        load(&self.folder(signature).join(FILE)).is_ok()
    }

    /// Stores `finding` unless the store already has it. True if it is new.
    pub fn insert(&self, finding: &Finding) -> anyhow::Result<bool> {
        let _lock = lock(&self.root)?;
        let file = self.folder(&finding.signature).join(FILE);
        if file.exists() {
            if load(&file).is_ok() {
                return Ok(false);
            }
            set_aside(&file)?;
        }
        write(&file, finding)?;
        Ok(true)
    }

    /// Stores `finding` in place of the one with its signature.
    pub fn replace(&self, finding: &Finding) -> anyhow::Result<()> {
        let _lock = lock(&self.root)?;
        write(&self.folder(&finding.signature).join(FILE), finding)
    }

    /// Every finding by name, the worst first. A damaged file is an `Err` in its own entry.
    pub fn all(&self) -> anyhow::Result<Vec<(String, anyhow::Result<Finding>)>> {
        let loaded = |name: String| {
            let finding = load(&self.root.join(&name).join(FILE));
            (name, finding)
        };
        let mut findings: Vec<_> = self.names()?.into_iter().map(loaded).collect();
        findings.sort_by_key(|(_, finding)| finding.as_ref().ok().map(|finding| finding.signature.rank()));
        Ok(findings)
    }

    /// The finding with this name, if there is one.
    pub fn get(&self, name: &str) -> anyhow::Result<Option<Finding>> {
        let file = self.root.join(name).join(FILE);
        if file.exists() { load(&file).map(Some) } else { Ok(None) }
    }

    /// The folder of cases during which a device was lost.
    pub fn lost(&self) -> PathBuf {
        self.root.join("lost")
    }

    /// The folder of campaign records.
    pub fn campaigns(&self) -> PathBuf {
        self.root.join("campaigns")
    }
}

fn write(file: &Path, finding: &Finding) -> anyhow::Result<()> {
    let text = toml::to_string(finding).context("cannot write a finding as TOML")?;
    write_atomically(file, text.as_bytes())
}

fn load(file: &Path) -> anyhow::Result<Finding> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let finding: Finding =
        toml::from_str(&text).with_context(|| format!("{} is damaged; delete its folder", file.display()))?;
    finding.case.check().with_context(|| format!("{} is damaged; delete its folder", file.display()))?;
    Ok(finding)
}
