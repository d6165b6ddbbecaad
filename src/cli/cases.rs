//! Reads cases: from files (plain cases, findings and regressions), or those of findings that a store has.

use std::path::{Path, PathBuf};

use crate::case::Case;
use crate::cli::{StoreArg, UsageError};
use crate::ops::{Op, accept};
use crate::store::Finding;
use crate::store::regression::Regression;

/// The case in `path`, with its op. `-` is standard input.
pub fn read(path: &Path) -> anyhow::Result<(&'static Op, Case)> {
    let shown = path.display();
    let text =
        if path.as_os_str() == "-" { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(path) };
    let text = text.map_err(|error| UsageError(format!("cannot read {shown}: {error}")))?;
    let accepted = parse(&text).and_then(accept);
    Ok(accepted.map_err(|error| UsageError(format!("{shown}: {error}")))?)
}

/// The case in the file at `path`, or else that of the finding for which this path is the name.
pub fn named(path: &Path, store: &StoreArg) -> anyhow::Result<(&'static Op, Case)> {
    if path.as_os_str() == "-" || path.exists() {
        return read(path);
    }
    let typed = path.display();
    match store.finding(&typed.to_string()) {
        Ok((_, finding)) => Ok(accept(finding.case).map_err(|error| UsageError(format!("{typed}: {error}")))?),
        Err(problem) if problem.is::<UsageError>() => {
            Err(UsageError(format!("there is no file `{typed}`, and {problem}")).into())
        }
        Err(problem) => Err(problem),
    }
}

/// The file at `path`, or all `wanted` files of the folder at `path`, sorted.
pub fn files(path: &Path, wanted: fn(&Path) -> bool) -> Result<Vec<PathBuf>, UsageError> {
    let unreadable = |error: std::io::Error| UsageError(format!("cannot read {}: {error}", path.display()));
    if !std::fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            files.extend(self::files(&path, wanted)?);
        } else if wanted(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The case in `text`. The keys tell which of the three forms it has.
fn parse(text: &str) -> Result<Case, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let case = if table.contains_key("violation") {
        toml::from_str::<Finding>(text).map_err(|error| error.to_string())?.case
    } else if table.contains_key("case") {
        Regression::parse(text)?.case
    } else {
        return Case::parse(text).map_err(|error| error.to_string());
    };
    case.check().map_err(|error| error.to_string())?;
    Ok(case)
}
