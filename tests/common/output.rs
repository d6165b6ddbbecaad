//! What a program printed, and its exit code.

use std::process::Output;

/// The exit code.
pub fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit code")
}

/// Printed bytes as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
