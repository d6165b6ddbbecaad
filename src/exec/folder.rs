//! The folder of a worker's files. It goes with the worker; what a killed `snuffer` leaves behind, the next one removes.

use std::fs::File;
use std::path::Path;
use std::sync::Once;
use std::time::Duration;

use anyhow::Context;
use tempfile::TempDir;

/// How the names of these folders begin.
const PREFIX: &str = "snuffer-worker-";

/// A folder younger than this may be one that is not locked yet.
const NEW: Duration = Duration::from_secs(60);

/// A folder that no other process uses.
#[derive(Debug)]
pub struct Folder {
    folder: TempDir,
    /// Locked as long as this process lives.
    _lock: File,
}

impl Folder {
    /// Makes one. The first one of a process also removes those of processes that have ended.
    pub fn new() -> anyhow::Result<Self> {
        static TIDIED: Once = Once::new();
        let place = std::env::temp_dir();
        TIDIED.call_once(|| tidy(&place));
        let cannot = || format!("cannot make a folder in {}; name another place with TMPDIR", place.display());
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir().with_context(cannot)?;
        let lock = File::open(folder.path()).with_context(cannot)?;
        lock.lock().with_context(cannot)?;
        Ok(Self { folder, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders in `place` that nobody has locked. What cannot be removed, such as that of another user, stays.
fn tidy(place: &Path) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            let _ = remove_if_left(&entry.path());
        }
    }
}

fn remove_if_left(folder: &Path) -> std::io::Result<()> {
    let lock = File::open(folder)?;
    let age = lock.metadata()?.modified()?.elapsed().unwrap_or_default();
    if age > NEW && lock.try_lock().is_ok() { std::fs::remove_dir_all(folder) } else { Ok(()) }
}
