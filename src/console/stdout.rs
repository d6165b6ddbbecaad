//! Standard output: everything that the command line prints goes through here.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write, stdout};
use std::process::exit;

/// The exit code that a shell reports for a process that SIGPIPE ended.
const CLOSED_PIPE: i32 = 128 + 13;

/// The exit code if the output cannot be written, such as to a full disk.
const NOT_WRITTEN: i32 = 5;

/// Writes to standard output, and ends the process if that fails: quietly if the reader, such as `head`, has closed the
/// pipe.
///
/// SIGPIPE stays ignored. It would also end this process when it writes to a dead worker.
pub fn print(text: Arguments) {
    if let Err(error) = stdout().lock().write_fmt(text) {
        if error.kind() != ErrorKind::BrokenPipe {
            eprintln!("snuffer: cannot write to standard output: {error}");
            exit(NOT_WRITTEN);
        }
        exit(CLOSED_PIPE);
    }
}
