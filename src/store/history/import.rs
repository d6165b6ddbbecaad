//! Reads new and changed records and findings of a store into a history.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, bail};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use super::{History, seal};
use crate::ops;
use crate::outcome::tensor_summary;
use crate::program::call;
use crate::store::{Finding, Record, Store, version};

/// A file of a store, with its size and time when it was read.
struct Source {
    path: PathBuf,
    size: i64,
    modified: i64,
}

/// The content of a file of a store.
enum Content {
    Campaign { name: String, begun: i64, record: Box<Record> },
    Finding(Box<Finding>),
}

impl History {
    /// Updates the history from the store at `root`, and returns the problems of files that cannot be read. `cause_of` says which root
    /// cause a finding has.
    pub fn add<'a>(
        &mut self,
        root: &Path,
        cause_of: impl Fn(&Finding) -> Option<&'a str>,
    ) -> anyhow::Result<Vec<String>> {
        let store = Store::existing(root)?;
        let mut left_out = Vec::new();
        let mut read = Vec::new();
        for source in sources(&store, root)? {
            if self.knows(&source).map_err(|error| self.explain(&error))? {
                continue;
            }
            match content(&store, &source.path) {
                Ok(content) => read.push((source, content)),
                Err(problem) => left_out.push(format!("{problem:#}")),
            }
        }
        // Write only if something is new: a history that is up to date may be read-only.
        if !read.is_empty() {
            write(&mut self.connection, &read, cause_of).map_err(|error| self.explain(&error))?;
        }
        Ok(left_out)
    }

    fn knows(&self, source: &Source) -> rusqlite::Result<bool> {
        let mut query = self.connection.prepare_cached("SELECT size, modified FROM files WHERE path = ?1")?;
        let known = query.query_row([key(&source.path)], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        Ok(known == Some((source.size, source.modified)))
    }
}

fn key(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The records and findings of a store.
fn sources(store: &Store, root: &Path) -> anyhow::Result<Vec<Source>> {
    let is_record = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "toml");
    let records = entries(&store.campaigns())?.into_iter().filter(is_record);
    let findings = entries(root)?.into_iter().map(|folder| folder.join("finding.toml")).filter(|file| file.is_file());
    let source = |path: PathBuf| {
        let data = fs::metadata(&path)?;
        let modified = data.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64;
        Ok(Source { path: fs::canonicalize(path)?, size: data.len() as i64, modified })
    };
    records.chain(findings).map(source).collect()
}

/// The entries of a folder in order; none if it is missing.
fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort_unstable();
    Ok(paths)
}

fn content(store: &Store, path: &Path) -> anyhow::Result<Content> {
    if path.file_name().is_some_and(|name| name == "finding.toml") {
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
        let finding = store.get(&folder.to_string_lossy())?;
        return Ok(Content::Finding(Box::new(finding.with_context(|| format!("{} is gone", path.display()))?)));
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    // A campaign is named after the second of its start.
    let begun = name.split('-').next().and_then(|second| second.parse().ok());
    let begun = begun.filter(|second| (0..=LAST_SECOND).contains(second));
    let begun = begun.with_context(|| format!("{} is not the name of a campaign", path.display()))?;
    let record = Box::new(Record::read(path)?);
    if record.tally.largest() > LARGEST {
        bail!("{} is damaged; delete it: no campaign has so many cases", path.display());
    }
    Ok(Content::Campaign { name, begun, record })
}

/// The last second that `SQLite` has a date for, that of the year 9999.
const LAST_SECOND: i64 = 253_402_300_799;

/// More than any campaign counts, and little enough for the sums of many.
const LARGEST: u64 = 1 << 48;

fn write<'a>(
    connection: &mut Connection,
    read: &[(Source, Content)],
    cause_of: impl Fn(&Finding) -> Option<&'a str>,
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (source, content) in read {
        match content {
            Content::Campaign { name, begun, record } => campaign(&transaction, name, *begun, record)?,
            Content::Finding(found) => finding(&transaction, found, cause_of(found))?,
        }
        let file = params![key(&source.path), source.size, source.modified];
        transaction.execute("INSERT OR REPLACE INTO files VALUES (?1, ?2, ?3)", file)?;
    }
    seal::write(&transaction)?;
    transaction.commit()
}

/// Writes the counts of a campaign. Of two records of one campaign, the one with more progress is kept.
fn campaign(transaction: &Transaction, name: &str, begun: i64, record: &Record) -> rusqlite::Result<()> {
    let total = &record.tally.total;
    transaction.execute(
        "DELETE FROM campaigns WHERE name = ?1 AND shard = ?2 AND (cases, finished) <= (?3, ?4)",
        params![name, record.shard, total.cases as i64, record.finished],
    )?;
    let inserted = transaction.execute(
        "INSERT OR IGNORE INTO campaigns VALUES
         (NULL, ?1, ?2, datetime(?3, 'unixepoch'), ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        params![
            name,
            record.shard,
            begun,
            version(&record.versions, "snuffer").unwrap_or("unknown"),
            version(&record.versions, "candle-core").unwrap_or("unknown"),
            record.seed.to_string(),
            record.imported,
            record.devices.join(", "),
            record.modes.join(", "),
            total.cases as i64,
            total.passed as i64,
            (total.partly + total.skipped) as i64,
            total.failed as i64,
            record.tally.broken as i64,
            record.seconds,
            record.finished,
        ],
    )?;
    if inserted == 0 { Ok(()) } else { tally(transaction, transaction.last_insert_rowid(), record) }
}

fn tally(transaction: &Transaction, id: i64, record: &Record) -> rusqlite::Result<()> {
    let tally = &record.tally;
    let mut insert = transaction.prepare_cached("INSERT INTO counts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    let parts = [("op", &tally.ops), ("mode", &tally.modes), ("dtype", &tally.dtypes), ("view", &tally.views)];
    for (part, counts) in parts {
        for (name, of) in counts {
            let counts = [of.cases, of.passed, of.partly + of.skipped, of.failed].map(|count| count as i64);
            insert.execute(params![id, part, name, counts[0], counts[1], counts[2], counts[3]])?;
        }
    }
    let mut insert = transaction.prepare_cached("INSERT INTO outcomes VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for ([op, dtype, device, outcome], cases) in outcomes(record) {
        insert.execute(params![id, op, dtype, device, outcome, cases as i64])?;
    }
    let mut insert = transaction.prepare_cached("INSERT INTO skips VALUES (?1, ?2, ?3)")?;
    for (why, &cases) in &tally.skips {
        insert.execute(params![id, why, cases as i64])?;
    }
    let mut insert = transaction.prepare_cached("INSERT INTO signatures VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    for (signature, device, cases) in failures(record) {
        let mut parts = signature.splitn(4, "--");
        let mut part = || parts.next().unwrap_or_default();
        insert.execute(params![id, signature, device, part(), part(), part(), part(), cases as i64])?;
    }
    Ok(())
}

/// Signature, device and cases. Counts of older builds have no device: they get all devices of the campaign.
fn failures(record: &Record) -> Vec<(&str, String, u64)> {
    let mut rows = Vec::new();
    for (signature, &cases) in &record.tally.signatures {
        let charged = record.tally.charged.get(signature);
        let charged = charged.into_iter().flatten().map(|(device, &cases)| (signature.as_str(), device.clone(), cases));
        let first = rows.len();
        rows.extend(charged);
        let rest = cases.saturating_sub(rows[first..].iter().map(|(_, _, cases)| cases).sum());
        if rest > 0 {
            rows.push((signature, record.devices.join(", "), rest));
        }
    }
    rows
}

/// Op, dtype, device, outcome and cases. Counts of older builds have neither op nor dtype.
fn outcomes(record: &Record) -> Vec<([&str; 4], u64)> {
    let mut rows: Vec<_> = record.tally.each_call().collect();
    let all = record.tally.outcomes.iter();
    let mut rest: BTreeMap<_, u64> =
        all.map(|(key, &cases)| (key.split_once(' ').unwrap_or((key, "")), cases)).collect();
    for &([_, _, device, outcome], cases) in &rows {
        rest.entry((device, outcome)).and_modify(|rest| *rest = rest.saturating_sub(cases));
    }
    let rest = rest.into_iter().filter(|(_, cases)| *cases > 0);
    rows.extend(rest.map(|((device, outcome), cases)| (["", "", device, outcome], cases)));
    rows
}

fn finding(transaction: &Transaction, finding: &Finding, cause: Option<&str>) -> rusqlite::Result<()> {
    let Finding { signature, violation, .. } = finding;
    let (title, device) = (signature.to_string(), violation.device.to_string());
    transaction.execute(
        "INSERT OR REPLACE INTO findings VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![signature.slug(), title, device, line(finding), violation.detail, cause],
    )?;
    Ok(())
}

/// The minimized case in one line: the call and its inputs.
fn line(finding: &Finding) -> String {
    let case = &finding.case;
    let call = ops::find(&case.op).map_or_else(|| case.op.clone(), |op| call(op, case));
    let call = call.split_whitespace().collect::<Vec<_>>().join(" ");
    let inputs = case.inputs.iter().map(|(name, tensor)| {
        let view = if tensor.view.is_plain() { "" } else { " in a view" };
        format!("{name} = {}{view}", tensor_summary(tensor))
    });
    let backward = (!case.backward.is_none()).then(|| format!("backward: {:?}", case.backward).to_lowercase());
    std::iter::once(call).chain(inputs).chain(backward).collect::<Vec<_>>().join("; ")
}
