//! Merging of stores: the shards of a hunt, or several campaigns of a machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::files::{is_there, lock, set_aside, write_atomically};
use super::{Counts, Record, Store, Tally};

/// The result of merging one store into another.
#[derive(Debug, Default)]
pub struct Merged {
    /// Findings in the other store.
    pub findings: usize,
    /// Findings that were new.
    pub new: usize,
    /// Campaigns that were new.
    pub campaigns: usize,
    /// Findings and campaigns that could not be read.
    pub damaged: Vec<String>,
}

impl Store {
    /// Opens the store at `root`, which must exist.
    pub fn existing(root: &Path) -> anyhow::Result<Self> {
        if !root.is_dir() {
            bail!("there is no store at {}; `snuffer hunt` creates one", root.display());
        }
        Self::open(root)
    }

    /// Adds the findings and campaigns of `other`. Of two findings with the same signature, the one with the lower seed and index
    /// is kept, so the order of merges does not matter. Of two records of a campaign, the one that is further is kept.
    pub fn merge(&self, other: &Self) -> anyhow::Result<Merged> {
        let mut merged = Merged::default();
        let _lock = lock(&self.root)?;
        for (_, finding) in other.all()? {
            let finding = match finding {
                Ok(finding) => finding,
                Err(problem) => {
                    merged.damaged.push(format!("{problem:#}"));
                    continue;
                }
            };
            merged.findings += 1;
            let order = |origin: &super::Origin| (origin.seed, origin.index);
            let new = self.put(&finding, |mine| order(&finding.origin) < order(&mine.origin))?;
            merged.new += usize::from(new.is_some());
        }
        for (name, theirs) in other.named_records()? {
            match theirs.and_then(|theirs| self.take(other, &name, &theirs)) {
                Ok(new) => merged.campaigns += usize::from(new),
                Err(problem) => merged.damaged.push(format!("{problem:#}")),
            }
        }
        for case in entries(&other.lost())? {
            if let Err(problem) = copy(&case, &self.lost()) {
                merged.damaged.push(format!("{problem:#}"));
            }
        }
        Ok(merged)
    }

    /// Copies a campaign of `other`, unless this store has it and is as far. True if this store did not have it.
    fn take(&self, other: &Self, name: &str, theirs: &Record) -> anyhow::Result<bool> {
        let file = |extension: &str| format!("{name}.{extension}");
        let mine = self.campaigns().join(file("toml"));
        let is_new = !is_there(&mine);
        match Record::read(&mine) {
            Ok(record) if record.next >= theirs.next => return Ok(false),
            Ok(_) => {}
            Err(_) if is_new => {}
            Err(_) => drop(set_aside(&mine)?),
        }
        // The record is last: if this is interrupted, the next merge begins again.
        for extension in ["failures.jsonl", "coverage", "toml"] {
            let from = other.campaigns().join(file(extension));
            if is_there(&from) {
                copy(&from, &self.campaigns())?;
            }
        }
        Ok(is_new)
    }

    /// Every campaign's record by name, in order of their start. A damaged file is an `Err` in its own entry.
    pub fn named_records(&self) -> anyhow::Result<Vec<(String, anyhow::Result<Record>)>> {
        let read = |name: String| {
            let record = Record::read(&self.campaigns().join(format!("{name}.toml")));
            (name, record)
        };
        Ok(Record::names(&self.campaigns())?.into_iter().map(read).collect())
    }

    /// The records of all campaigns, in order of their start.
    pub fn records(&self) -> anyhow::Result<Vec<Record>> {
        self.named_records()?.into_iter().map(|(_, record)| record).collect()
    }

    /// The sum of the tallies of all campaigns.
    pub fn tally(&self) -> anyhow::Result<Tally> {
        Ok(Tally::sum(&self.records()?))
    }
}

/// The entries of a folder, other than folders; none if it is missing.
fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| !path.is_dir() || path.is_symlink()).collect())
}

/// Copies a file into the folder `to`. The other store may be anybody's: what its links lead to is no part of it.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    if !fs::symlink_metadata(from).is_ok_and(|data| data.is_file()) {
        bail!("{} is not a file of the store, but a link or a device", from.display());
    }
    let content = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    write_atomically(&to.join(from.file_name().unwrap_or_default()), &content)
}

impl Tally {
    /// The sum of the tallies of campaigns.
    pub fn sum<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut sum = Self::default();
        records.into_iter().for_each(|record| sum.add(&record.tally));
        sum
    }

    /// The largest count.
    pub fn largest(&self) -> u64 {
        let parts = [&self.ops, &self.modes, &self.dtypes, &self.views].into_iter().flat_map(BTreeMap::values);
        let counts = parts.chain([&self.total]).flat_map(|of| [of.cases, of.passed, of.partly, of.skipped, of.failed]);
        let plain = [&self.outcomes, &self.calls, &self.skips, &self.signatures, &self.ranks, &self.violations];
        let nested = self.charged.values().chain(self.reasons.values());
        let named = plain.into_iter().chain(nested).flat_map(BTreeMap::values).copied();
        counts.chain(named).chain([self.broken]).max().unwrap_or(0)
    }

    /// Adds the counts of another campaign. A store from elsewhere may claim any count, so a sum stops at the largest number.
    pub fn add(&mut self, other: &Self) {
        self.total.add(&other.total);
        self.broken = self.broken.saturating_add(other.broken);
        for (mine, theirs) in [
            (&mut self.ops, &other.ops),
            (&mut self.modes, &other.modes),
            (&mut self.dtypes, &other.dtypes),
            (&mut self.views, &other.views),
        ] {
            for (name, counts) in theirs {
                mine.entry(name.clone()).or_default().add(counts);
            }
        }
        add(&mut self.outcomes, &other.outcomes);
        add(&mut self.calls, &other.calls);
        add(&mut self.skips, &other.skips);
        add(&mut self.signatures, &other.signatures);
        add(&mut self.ranks, &other.ranks);
        add(&mut self.violations, &other.violations);
        for (name, devices) in &other.charged {
            add(self.charged.entry(name.clone()).or_default(), devices);
        }
        for (reason, outcomes) in &other.reasons {
            add(self.reasons.entry(reason.clone()).or_default(), outcomes);
        }
        for (name, (right, all)) in &other.canaries {
            let mine = self.canaries.entry(name.clone()).or_default();
            *mine = (mine.0.saturating_add(*right), mine.1.saturating_add(*all));
        }
    }
}

fn add(mine: &mut BTreeMap<String, u64>, theirs: &BTreeMap<String, u64>) {
    for (name, count) in theirs {
        let mine = mine.entry(name.clone()).or_default();
        *mine = mine.saturating_add(*count);
    }
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.cases = self.cases.saturating_add(other.cases);
        self.passed = self.passed.saturating_add(other.passed);
        self.partly = self.partly.saturating_add(other.partly);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.failed = self.failed.saturating_add(other.failed);
    }
}
