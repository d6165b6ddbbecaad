//! Folders that are filled once.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// Fills `folder` with `make`, unless its stamp shows that this is done. An interrupted run starts over. Returns whether
/// `make` ran.
pub fn once(folder: &Path, stamp: &str, make: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<bool> {
    if is_done(folder, stamp) {
        return Ok(false);
    }
    let partial = folder.with_extension("partial");
    for old in [&partial, folder].into_iter().filter(|old| old.exists()) {
        fs::remove_dir_all(old).with_context(|| format!("cannot remove {}", old.display()))?;
    }
    fs::create_dir_all(&partial).with_context(|| format!("cannot create {}", partial.display()))?;
    make(&partial)?;
    fs::write(partial.join("stamp"), stamp)?;
    fs::rename(&partial, folder)?;
    Ok(true)
}

/// Whether `folder` was filled with this stamp.
pub fn is_done(folder: &Path, stamp: &str) -> bool {
    fs::read_to_string(folder.join("stamp")).is_ok_and(|found| found == stamp)
}

#[cfg(test)]
mod tests {
    use super::once;

    #[test]
    fn an_interrupted_installation_starts_over_and_a_complete_one_is_kept() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("packages");
        let made = |stamp: &str, is_complete: bool| {
            once(&folder, stamp, |partial| {
                assert_eq!(std::fs::read_dir(partial)?.count(), 0, "something is left of an earlier run");
                std::fs::write(partial.join("package"), stamp)?;
                anyhow::ensure!(is_complete, "interrupted");
                Ok(())
            })
        };
        assert!(made("1", false).is_err() && !folder.exists());
        assert!(made("1", true).expect("made") && !made("1", true).expect("kept"));
        assert!(made("2", false).is_err() && !folder.exists(), "another version replaces it");
        assert!(made("2", true).expect("made"));
        assert_eq!(std::fs::read_to_string(folder.join("package")).expect("readable"), "2");
    }
}
