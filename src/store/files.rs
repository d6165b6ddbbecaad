//! The only place that writes files. Writes are atomic: a file has its old content or its new one.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::case::Case;

/// Writes a failing case into `folder` and returns the path, for `snuffer minimize`.
pub fn keep_case(folder: &Path, name: &str, case: &Case) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let path = folder.join(format!("{name}.toml"));
    write_atomically(&path, case.to_text().as_bytes())?;
    Ok(path)
}

/// Writes the crate of a program into `folder`.
pub fn keep_program(folder: &Path, manifest: &str, program: &str) -> anyhow::Result<()> {
    let source = folder.join("src");
    fs::create_dir_all(&source).with_context(|| format!("cannot make {}", source.display()))?;
    write_atomically(&folder.join("Cargo.toml"), manifest.as_bytes())?;
    write_atomically(&source.join("main.rs"), program.as_bytes())
}

/// Writes a file atomically: after a crash it has the old content or the new one.
pub fn write_atomically(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
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
