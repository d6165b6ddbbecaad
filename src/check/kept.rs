//! The cases that a check keeps: those that failed once.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::case::Case;
use crate::ops::accept;
use crate::store::{Finding, write_atomically};

/// The cases in `folder`, if there is one, by their files.
pub fn cases(folder: Option<&Path>) -> anyhow::Result<Vec<(PathBuf, Case)>> {
    let Some(folder) = folder.filter(|folder| folder.is_dir()) else { return Ok(Vec::new()) };
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let about =
            || format!("{} does not match the current definition of the op; delete or correct it", path.display());
        let case = Case::parse(&text).with_context(about)?;
        let (_, case) = accept(case).map_err(anyhow::Error::msg).with_context(about)?;
        Ok((path, case))
    };
    paths.into_iter().map(read).collect()
}

/// Keeps the case of `finding` in `folder`, under the name of how it fails.
pub fn keep(folder: Option<&Path>, finding: &Finding) -> anyhow::Result<Option<PathBuf>> {
    let Some(folder) = folder else { return Ok(None) };
    let path = folder.join(finding.signature.slug()).with_extension("toml");
    write_atomically(&path, finding.case.to_text().as_bytes())?;
    Ok(Some(path))
}
