//! The only place that writes files. Writes are atomic: a file has its old content or its new one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
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

/// Writes the last case of a lost device into `folder`, with what is known of it as comments, and returns the path.
pub fn keep_lost(folder: &Path, name: &str, case: &Case, journal: &[String]) -> anyhow::Result<PathBuf> {
    let path = folder.join(format!("{name}.toml"));
    let mut lines: Vec<String> = journal.iter().map(|line| format!("# {}", line.replace('\n', " "))).collect();
    lines.extend([String::new(), case.to_text()]);
    write_atomically(&path, lines.join("\n").as_bytes())?;
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

/// Opens a list for lines that are appended to it, by this process alone. `None` if another process has it open.
pub(super) fn append_alone(path: &Path) -> anyhow::Result<Option<File>> {
    let cannot = || format!("cannot write {}", path.display());
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(path).with_context(cannot)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
    }
    end_with_a_line(&mut file).with_context(cannot)?;
    Ok(Some(file))
}

/// Cuts off the part of a line at the end of a list, which a process leaves that is killed while it writes.
fn end_with_a_line(file: &mut File) -> std::io::Result<()> {
    /// No line is longer than this.
    const LINE: u64 = 1 << 16;
    let length = file.metadata()?.len();
    let start = file.seek(SeekFrom::Start(length.saturating_sub(LINE)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    let whole = end.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
    if whole < end.len() as u64 { file.set_len(start + whole) } else { Ok(()) }
}

/// Keeps a copy of an executable.
pub fn keep_executable(from: &Path, to: &Path) -> anyhow::Result<()> {
    let program = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    write_with_mode(to, &program, 0o777)
}

/// The text of a file. A store from elsewhere may have a pipe or a device in its place, which has no end.
pub(super) fn read_text(path: &Path) -> std::io::Result<String> {
    let data = fs::metadata(path)?;
    if data.is_file() || data.is_dir() {
        fs::read_to_string(path)
    } else {
        Err(std::io::Error::other("it is not a file"))
    }
}

/// Whether a folder has this entry, if only a link to nothing: then it cannot be read, which is an error of its own.
pub(super) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Waits for the lock of the folder at `root`, which is made if it is missing. It is held until the file is dropped.
pub fn lock(root: &Path) -> anyhow::Result<File> {
    make_folder(root)?;
    let path = root.join(".lock");
    let lock = File::create(&path).with_context(|| format!("cannot make the lock file {}", path.display()))?;
    lock.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(lock)
}

/// Renames a damaged file, so that somebody can look at it. Returns its new path, which no file had.
pub(super) fn set_aside(file: &Path) -> anyhow::Result<PathBuf> {
    let names = (1..).map(|n| if n == 1 { "damaged".to_string() } else { format!("damaged-{n}") });
    let free = names.map(|name| file.with_extension(name)).find(|path| !is_there(path));
    let free = free.expect("one of all numbers is free");
    fs::rename(file, &free).with_context(|| format!("cannot rename {}", file.display()))?;
    Ok(free)
}

/// Writes a file, and makes its folder. After a crash the file has its old content or the new one.
pub fn write_atomically(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    // Temporary files are readable by their owner only; a site is for others to read.
    write_with_mode(path, content, 0o666)
}

fn write_with_mode(path: &Path, content: &[u8], mode: u32) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(folder)?;
    let mut file = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(folder)
        .with_context(|| format!("cannot write in {}; is the disk full?", folder.display()))?;
    file.write_all(content)
        .and_then(|()| file.as_file().sync_all())
        .with_context(|| format!("cannot write {}; is the disk full?", path.display()))?;
    file.persist(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}
