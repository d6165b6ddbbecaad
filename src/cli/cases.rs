//! Reads cases: from files (plain cases, findings and regressions), or those of findings that a store has.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::case::Case;
use crate::cli::{KnownArg, StoreArg, UsageError, text};
use crate::ops::{self, Op, accept};
use crate::oracle::Signature;
use crate::store::Finding;
use crate::store::regression::Regression;

/// The case in `path`, with its op. `-` is standard input.
pub fn read(path: &Path) -> anyhow::Result<(&'static Op, Case)> {
    let (op, case, _) = read_failing(path)?;
    Ok((op, case))
}

/// The case in `path`, with its op, and the signature of its failure if the file names one.
fn read_failing(path: &Path) -> anyhow::Result<(&'static Op, Case, Option<Signature>)> {
    let (case, signature) =
        parse(&text(path)?).map_err(|problem| UsageError(format!("{}: {problem}", path.display())))?;
    let (op, case) = accepted(&path.display(), case)?;
    Ok((op, case, signature))
}

/// The op of the case that was read from what `shown` names, and the case as the op takes it.
fn accepted(shown: &dyn Display, case: Case) -> anyhow::Result<(&'static Op, Case)> {
    Ok(accept(case).map_err(|problem| UsageError(format!("{shown}: {problem}")))?)
}

/// The op of the case of a finding.
pub fn op(case: &Case) -> Result<&'static Op, UsageError> {
    let missing = || UsageError(format!("this build has no op `{}`; use the version that found it", case.op));
    ops::find(&case.op).ok_or_else(missing)
}

/// The case in the file at `path`, or else that of the finding or the regression for which this path is the name.
pub fn named(path: &Path, store: &StoreArg) -> anyhow::Result<(&'static Op, Case)> {
    let (op, case, _) = failing(path, store)?;
    Ok((op, case))
}

/// As [`named`], and the signature of the failure if a finding or a regression says it.
pub fn failing(path: &Path, store: &StoreArg) -> anyhow::Result<(&'static Op, Case, Option<Signature>)> {
    let inside = path.join("finding.toml");
    if path.as_os_str() == "-" || path.exists() {
        return read_failing(if inside.is_file() { &inside } else { path });
    }
    let typed = path.display().to_string();
    // A regression has a `/` in its name, a finding has none.
    if typed.contains('/')
        && let Some((_, kept)) = KnownArg::default().regressions()?.into_iter().find(|(name, _)| *name == typed)
    {
        let (op, case) = accepted(&typed, kept.case)?;
        return Ok((op, case, kept.signature));
    }
    match store.finding(&typed) {
        Ok((_, finding)) => {
            let (op, case) = accepted(&typed, finding.case)?;
            Ok((op, case, Some(finding.signature)))
        }
        Err(problem) if problem.is::<UsageError>() => {
            Err(UsageError(format!("there is no file `{typed}`, and {problem}")).into())
        }
        Err(problem) => Err(problem),
    }
}

/// How deep folders of cases are in each other at most.
const DEPTH: usize = 32;

/// The file at `path`, or all `wanted` regular files of the folder at `path`, sorted. Links are followed, but not in circles.
pub fn files(path: &Path, wanted: fn(&Path) -> bool) -> Result<Vec<PathBuf>, UsageError> {
    let unreadable = |error: std::io::Error| UsageError(format!("cannot read {}: {error}", path.display()));
    if !std::fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    // Neither the folder of a root cause nor that of golden vectors holds cases.
    let has_cases = |entry: &DirEntry| {
        let path = entry.path();
        entry.depth() == 0 || !(path.join("cause.toml").is_file() || path.is_dir() && path.ends_with("golden"))
    };
    let mut files = Vec::new();
    for entry in WalkDir::new(path).follow_links(true).max_depth(DEPTH).into_iter().filter_entry(has_cases) {
        match entry {
            Ok(entry) if entry.file_type().is_file() && wanted(entry.path()) => files.push(entry.into_path()),
            Ok(_) => {}
            Err(circle) if circle.loop_ancestor().is_some() => {}
            Err(problem) => return Err(unreadable(problem.into())),
        }
    }
    files.sort();
    Ok(files)
}

/// The case in `text`, and the signature of its failure. The keys tell which of the three forms it has.
fn parse(text: &str) -> Result<(Case, Option<Signature>), String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    if let Some(whole) = ["violation", "case"].into_iter().find(|key| table.contains_key(*key))
        && let Some(part) = ["op", "steps", "threads", "devices", "times", "repeat", "backward", "params", "inputs"]
            .into_iter()
            .find(|key| table.contains_key(*key))
    {
        return Err(format!("a file with `{whole}` has its `{part}` under [case]; this one has `{part}` outside, too"));
    }
    let (case, signature) = if table.contains_key("violation") {
        let finding = toml::from_str::<Finding>(text).map_err(|error| error.to_string())?;
        (finding.case, Some(finding.signature))
    } else if table.contains_key("case") {
        let regression = Regression::parse(text)?;
        (regression.case, regression.signature)
    } else {
        return Ok((Case::parse(text).map_err(|error| error.to_string())?, None));
    };
    case.check().map_err(|error| error.to_string())?;
    Ok((case, signature))
}
