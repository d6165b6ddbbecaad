//! Merging of stores: the shards of a hunt, or several campaigns of a machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::files::write_atomically;
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
    /// Findings that could not be read.
    pub damaged: Vec<String>,
}

impl Store {
    /// Opens the store at `root`, which must exist.
    pub fn existing(root: &Path) -> anyhow::Result<Self> {
        if !root.is_dir() {
            bail!("there is no store at {}; `snuffer hunt` makes one", root.display());
        }
        Self::open(root)
    }

    /// Adds the findings and campaigns of `other`. Of two findings with the same signature, the one with the lower seed and index
    /// is kept, so the order of merges does not matter.
    pub fn merge(&self, other: &Self) -> anyhow::Result<Merged> {
        let mut merged = Merged::default();
        for (name, finding) in other.all()? {
            let finding = match finding {
                Ok(finding) => finding,
                Err(problem) => {
                    merged.damaged.push(format!("{problem:#}"));
                    continue;
                }
            };
            merged.findings += 1;
            let order = |origin: &super::Origin| (origin.seed, origin.index);
            let later = self.get(&name).ok().flatten().filter(|mine| order(&finding.origin) < order(&mine.origin));
            if later.is_some() {
                self.replace(&finding)?;
            } else {
                merged.new += usize::from(self.insert(&finding)?);
            }
        }
        merged.campaigns = copy_missing(&other.campaigns(), &self.campaigns())?;
        copy_missing(&other.lost(), &self.lost())?;
        Ok(merged)
    }

    /// Every campaign's record by name, in order of their start. A damaged file is an `Err` in its own entry.
    pub fn named_records(&self) -> anyhow::Result<Vec<(String, anyhow::Result<Record>)>> {
        let Ok(entries) = fs::read_dir(self.campaigns()) else { return Ok(Vec::new()) };
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        paths.sort_unstable();
        let name = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(paths.iter().map(|path| (name(path), Record::read(path))).collect())
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

/// Copies the files in the folder `from` that `to` lacks, and returns how many of them are TOML.
fn copy_missing(from: &Path, to: &Path) -> anyhow::Result<usize> {
    let Ok(entries) = fs::read_dir(from) else { return Ok(0) };
    let mut copied = 0;
    for entry in entries {
        let from = entry?.path();
        let to = to.join(from.file_name().unwrap_or_default());
        if !to.exists() {
            let content = fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?;
            write_atomically(&to, &content)?;
            copied += usize::from(to.extension().is_some_and(|extension| extension == "toml"));
        }
    }
    Ok(copied)
}

impl Tally {
    /// The sum of the tallies of campaigns.
    pub fn sum<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut sum = Self::default();
        records.into_iter().for_each(|record| sum.add(&record.tally));
        sum
    }

    /// Adds the counts of another campaign.
    pub fn add(&mut self, other: &Self) {
        self.total.add(&other.total);
        self.broken += other.broken;
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
        add(&mut self.violations, &other.violations);
        for (name, devices) in &other.charged {
            add(self.charged.entry(name.clone()).or_default(), devices);
        }
        for (name, (right, all)) in &other.canaries {
            let mine = self.canaries.entry(name.clone()).or_default();
            *mine = (mine.0 + right, mine.1 + all);
        }
    }
}

fn add(mine: &mut BTreeMap<String, u64>, theirs: &BTreeMap<String, u64>) {
    for (name, count) in theirs {
        *mine.entry(name.clone()).or_default() += count;
    }
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.passed += other.passed;
        self.skipped += other.skipped;
        self.failed += other.failed;
    }
}
