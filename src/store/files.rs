//! The only place that writes files. Writes are atomic: a file has its old content or its new one.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::case::Case;

/// Writes a failing case into `folder` and returns the path, for `snuffer minimize`.
pub fn keep_case(folder: &Path, name: &str, case: &Case) -> anyhow::Result<PathBuf> {
    let path = folder.join(format!("{name}.toml"));
    write_atomically(&path, case.to_text().as_bytes())?;
    Ok(path)
}

/// Writes the crate of a program into `folder`.
pub fn keep_program(folder: &Path, manifest: &str, program: &str) -> anyhow::Result<()> {
    write_atomically(&folder.join("Cargo.toml"), manifest.as_bytes())?;
    write_atomically(&folder.join("src/main.rs"), program.as_bytes())
}

/// Makes a folder and those above it.
pub fn make_folder(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))
}

/// Opens a list for lines that are appended to it.
pub(super) fn append(path: &Path) -> anyhow::Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.with_context(|| format!("cannot write {}", path.display()))
}

/// Waits for the lock of the store at `root`. It is held until the file is dropped.
pub(super) fn lock(root: &Path) -> anyhow::Result<File> {
    let lock = File::create(root.join(".lock")).context("cannot make the store's lock file")?;
    lock.lock().context("cannot lock the store")?;
    Ok(lock)
}

/// Renames a damaged file, so that somebody can look at it.
pub(super) fn set_aside(file: &Path) -> anyhow::Result<()> {
    fs::rename(file, file.with_extension("damaged")).with_context(|| format!("cannot rename {}", file.display()))
}

/// Writes a file, and makes its folder. After a crash the file has its old content or the new one.
pub fn write_atomically(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(folder)?;
    // Temporary files are readable by their owner only; a site is for others to read.
    let mut file = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .with_context(|| format!("cannot write in {}; is the disk full?", folder.display()))?;
    file.write_all(content)
        .and_then(|()| file.as_file().sync_all())
        .with_context(|| format!("cannot write {}; is the disk full?", path.display()))?;
    file.persist(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}
