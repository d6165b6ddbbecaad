//! The store of findings: one folder per signature.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use serde::{Deserialize, Serialize};

use super::files::{is_there, lock, make_folder, set_aside};
use super::id;
use super::platform::Platform;
use super::reproduction::Reproduction;
use super::sealed;
use crate::case::Case;
use crate::device::{Device, Hardware};
use crate::exec::{CandleUnderTest, EditedKernels, Sanitizer};
use crate::ops;
use crate::oracle::{Evidence, OracleName, Signature, Site, Verdict, Violation, judge};
use crate::outcome::{Observation, Outcome, Place};

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

/// Where a finding comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// `snuffer` and candle.
    pub versions: String,
    /// The hardware of each CUDA device.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hardware: BTreeMap<Device, Hardware>,
    /// The tool of `compute-sanitizer` under which the workers of GPUs ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sanitizer: Option<Sanitizer>,
    /// The edited kernels that simulated devices ran. Candle's own do not show the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<EditedKernels>,
    /// The candle that workers had, if it was not the release under test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candle: Option<CandleUnderTest>,
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
    /// The devices whose observations show the same violation, or the device that the violation names if there are none.
    pub fn devices(&self) -> Vec<Device> {
        let evidence = ops::find(&self.case.op).map(|op| Evidence::new(op, &self.case, &self.observations));
        let verdict = evidence.map_or(Verdict::Pass, |evidence| judge(&evidence));
        let same = |it: &&Violation| (it.oracle, &it.kind) == (self.signature.oracle, &self.signature.kind);
        let shown: BTreeSet<Device> = verdict.violations().iter().filter(same).flat_map(Violation::devices).collect();
        if shown.is_empty() { vec![self.violation.device] } else { shown.into_iter().collect() }
    }

    /// Checks that the case and what was seen of it are whole and fit together: a file may say anything.
    pub fn check(&self) -> Result<(), String> {
        self.case.check().map_err(|problem| problem.to_string())?;
        self.observations.iter().try_for_each(|seen| seen.check(&self.case))
    }

    /// Whether it was found with this candle and on these kernels: `None` are those of the release under test.
    pub fn is_of(&self, candle: Option<&CandleUnderTest>, kernels: Option<&EditedKernels>) -> bool {
        let Origin { candle: own, kernels: own_kernels, .. } = &self.origin;
        CandleUnderTest::same(own.as_ref(), candle) && EditedKernels::same(own_kernels.as_ref(), kernels)
    }

    /// The file and line of the tested release at which it fails, or the kernel, where something names it.
    pub fn place(&self) -> Option<&Place> {
        let seen = self.observations.iter().find(|seen| seen.device == self.violation.device)?;
        let reported = seen.device_reports.reports.first().filter(|_| self.signature.oracle == OracleName::Checker);
        match &seen.outcome {
            _ if reported.is_some() => reported.map(|report| &report.place),
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

    /// The folder of the finding with this signature, or the folder that it would get.
    pub fn folder(&self, signature: &Signature) -> PathBuf {
        let [first, _] = names_of(signature);
        self.root.join(self.name(signature).unwrap_or(first))
    }

    /// The name of the finding with this signature, if the store has it and can read it.
    pub fn name(&self, signature: &Signature) -> Option<String> {
        let is_its = |name: &String| self.load(name).is_ok_and(|finding| finding.signature == *signature);
        names_of(signature).into_iter().find(is_its)
    }

    /// The name and signature of a finding that needs no more than a failure with this signature, if the store has one of the same
    /// candle and kernels. If it has the same failure, that is it.
    pub fn known(
        &self,
        signature: &Signature,
        candle: Option<&CandleUnderTest>,
        kernels: Option<&EditedKernels>,
    ) -> anyhow::Result<Option<(String, Signature)>> {
        let load = |name: &String| self.load(name).ok().filter(|finding| finding.is_of(candle, kernels));
        if let Some(name) = self.name(signature).filter(|name| load(name).is_some()) {
            return Ok(Some((name, signature.clone())));
        }
        let alike = Signature { site: Site::Call, ..signature.clone() }.slug();
        let names = self.names()?.into_iter().filter(|name| name.starts_with(&alike));
        let mut readable = names.filter_map(|name| Some((load(&name)?.signature, name)));
        let known = readable.find(|(other, _)| other.covers(signature));
        Ok(known.map(|(other, name)| (name, other)))
    }

    /// Stores `finding` unless the store already has it; one of another candle or other kernels gives way. Returns its name if it is new.
    pub fn insert(&self, finding: &Finding) -> anyhow::Result<Option<String>> {
        let _lock = lock(&self.root)?;
        let mut gives_way = false;
        let new = self.put(finding, |mine| {
            gives_way = !mine.is_of(finding.origin.candle.as_ref(), finding.origin.kernels.as_ref());
            gives_way
        })?;
        Ok(new.or_else(|| self.name(&finding.signature).filter(|_| gives_way)))
    }

    /// Stores `finding` in place of the one with its signature.
    pub fn replace(&self, finding: &Finding) -> anyhow::Result<()> {
        let _lock = lock(&self.root)?;
        self.put(finding, |_| true).map(|_| ())
    }

    /// Stores `finding`. If the store has one with its signature, `replaces` says of that one whether it goes. Damaged files in the
    /// way are set aside. Returns the name of a new finding. The caller holds the lock.
    pub(super) fn put(
        &self,
        finding: &Finding,
        replaces: impl FnOnce(&Finding) -> bool,
    ) -> anyhow::Result<Option<String>> {
        let mut free = None;
        for name in names_of(&finding.signature) {
            match self.get(&name) {
                Ok(Some(mine)) if mine.signature == finding.signature => {
                    if replaces(&mine) {
                        self.write(&name, finding)?;
                    }
                    return Ok(None);
                }
                Ok(Some(_)) => {}
                Ok(None) => free = free.or(Some(name)),
                Err(_) => {
                    set_aside(&self.file(&name))?;
                    free = free.or(Some(name));
                }
            }
        }
        let Some(name) = free else { bail!("two other findings have the names of {}", finding.signature) };
        self.write(&name, finding)?;
        Ok(Some(name))
    }

    /// Every finding by name, the worst first. A damaged file is an `Err` in its own entry.
    pub fn all(&self) -> anyhow::Result<Vec<(String, anyhow::Result<Finding>)>> {
        let loaded = |name: String| {
            let finding = self.load(&name);
            (name, finding)
        };
        let mut findings: Vec<_> = self.names()?.into_iter().map(loaded).collect();
        findings.sort_by_key(|(_, finding)| finding.as_ref().ok().map(|finding| finding.signature.rank()));
        Ok(findings)
    }

    /// Every finding by name, the worst first. A damaged one is an error.
    pub fn readable(&self) -> anyhow::Result<Vec<(String, Finding)>> {
        self.all()?.into_iter().map(|(name, finding)| Ok((name, finding?))).collect()
    }

    /// The finding with this name, if there is one.
    pub fn get(&self, name: &str) -> anyhow::Result<Option<Finding>> {
        if is_there(&self.file(name)) { self.load(name).map(Some) } else { Ok(None) }
    }

    /// The folder of cases during which a device was lost.
    pub fn lost(&self) -> PathBuf {
        self.root.join("lost")
    }

    /// The folder of campaign records.
    pub fn campaigns(&self) -> PathBuf {
        self.root.join("campaigns")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root.join(name).join(FILE)
    }

    fn write(&self, name: &str, finding: &Finding) -> anyhow::Result<()> {
        sealed::write(&self.file(name), &toml::to_string(finding).context("cannot write a finding as TOML")?)
    }

    fn load(&self, name: &str) -> anyhow::Result<Finding> {
        const ADVICE: &str = "delete its folder";
        let file = self.file(name);
        let finding: Finding = sealed::parse(&file, ADVICE)?;
        let damaged = |why: String| anyhow!("{} is damaged; {ADVICE}: {why}", file.display());
        finding.check().map_err(damaged)?;
        if !names_of(&finding.signature).iter().any(|own| own == name) {
            return Err(damaged(format!("it holds another finding, {}", finding.signature)));
        }
        Ok(finding)
    }
}

/// The two names that a finding may have. A folder's name is short and plain, so different signatures may have the same first
/// name. The second one has the id of the whole signature, for the finding that comes later.
fn names_of(signature: &Signature) -> [String; 2] {
    /// File systems allow 255.
    const LONGEST: usize = 200;
    let Signature { op, oracle, kind, site } = signature;
    let mut first = signature.slug();
    // A slug is ASCII.
    first.truncate(LONGEST);
    let second = format!("{first}--{}", id(&format!("{op}\n{oracle}\n{kind}\n{site}")));
    [first, second]
}
