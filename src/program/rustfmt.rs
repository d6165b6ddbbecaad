//! Programs in the format of candle's sources.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// `text` as rustfmt formats it by default, as candle is formatted; as it is where there is no rustfmt.
pub fn formatted(text: &str) -> String {
    run(text).unwrap_or_else(|| text.to_string())
}

fn run(text: &str) -> Option<String> {
    // In a folder without a configuration.
    let mut child = Command::new("rustfmt")
        .args(["--quiet", "--edition", "2021"])
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // All of a program fits into the pipe's buffer or is read before rustfmt writes.
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    let formatted = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !formatted.is_empty()).then_some(formatted)
}
