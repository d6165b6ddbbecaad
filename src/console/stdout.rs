//! Standard output, or the file of `--output`: everything that the command line prints goes through here.

use std::fmt::Arguments;
use std::io::{Error, ErrorKind, Write as _, stderr, stdout};
use std::path::PathBuf;
use std::process::exit;
use std::sync::{Mutex, PoisonError};

use super::harmless::{harmless, short_and_harmless};
use crate::store::write_atomically;

/// The exit code that a shell reports for a process that SIGPIPE ended.
const CLOSED_PIPE: i32 = 128 + 13;

/// The exit code if the output cannot be written, such as to a full disk.
const NOT_WRITTEN: i32 = 5;

/// The file to print to, and what it will hold: it is written when all is printed, so that nobody reads half of it.
static FILE: Mutex<Option<(PathBuf, String)>> = Mutex::new(None);

/// From now on prints to `file`, without colors.
pub fn print_to(file: PathBuf) {
    console::set_colors_enabled(false);
    *FILE.lock().unwrap_or_else(PoisonError::into_inner) = Some((file, String::new()));
}

/// Writes the file of [`print_to`], if there is one.
pub fn finish() -> anyhow::Result<()> {
    let file = FILE.lock().unwrap_or_else(PoisonError::into_inner).take();
    file.map_or(Ok(()), |(path, text)| write_atomically(&path, text.as_bytes()))
}

/// Writes to standard output, and ends the process if that fails: quietly if the reader, such as `head`, has closed the
/// pipe.
///
/// SIGPIPE stays ignored. It would also end this process when it writes to a dead worker.
pub fn print(text: Arguments) {
    let text = text.to_string();
    let text = harmless(&text);
    if let Some((_, kept)) = FILE.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        kept.push_str(&text);
    } else if let Err(error) = stdout().lock().write_all(text.as_bytes()) {
        end_unwritten(&error);
    }
}

/// Ends the process because standard output cannot be written.
pub fn end_unwritten(error: &Error) -> ! {
    if error.kind() != ErrorKind::BrokenPipe {
        complain(format_args!("snuffer: cannot write to standard output: {error}"));
        exit(NOT_WRITTEN);
    }
    exit(CLOSED_PIPE)
}

/// Writes a message to standard error. If that is full, the exit code still says what happened.
pub fn complain(text: Arguments) {
    let _ = writeln!(stderr(), "{}", short_and_harmless(&text.to_string()));
}
