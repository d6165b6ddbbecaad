//! Paths that environment variables name.

use std::path::{Path, PathBuf};

use anyhow::bail;

/// The path in the environment variable `variable`, if it is set. The path must be valid.
pub(super) fn path_from(variable: &str, is_valid: impl Fn(&Path) -> bool) -> anyhow::Result<Option<PathBuf>> {
    let Some(path) = std::env::var_os(variable).map(PathBuf::from) else { return Ok(None) };
    if !is_valid(&path) {
        bail!("{variable} names {}, which is missing or not what it should be", path.display());
    }
    Ok(Some(path))
}
