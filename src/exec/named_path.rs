//! Paths that environment variables name, and what is missing where it should be.

use std::path::{Path, PathBuf};

/// A file that the user can build or name: a worker, or the simulated device's driver.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Missing(pub(super) String);

/// The path in the environment variable `variable`, if it is set. The path must be valid.
pub(super) fn path_from(variable: &str, is_valid: impl Fn(&Path) -> bool) -> Result<Option<PathBuf>, Missing> {
    let Some(path) = std::env::var_os(variable).map(PathBuf::from) else { return Ok(None) };
    if !is_valid(&path) {
        let named = path.display();
        return Err(Missing(format!("{variable} names {named}, which is missing or not what it should be")));
    }
    // A command without a slash is looked up in PATH.
    Ok(Some(std::path::absolute(&path).unwrap_or(path)))
}
