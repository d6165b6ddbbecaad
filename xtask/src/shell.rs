//! How tasks run Cargo and other commands, and tell people what they do.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;

/// Prints a line for people. If nobody reads any more, such as `head`, the set-up ends quietly; the next one goes on.
pub fn say(line: &str) {
    /// What a shell reports for a process that SIGPIPE ended.
    const CLOSED_PIPE: i32 = 128 + 13;
    if writeln!(std::io::stderr(), "xtask: {line}").is_err() {
        std::process::exit(CLOSED_PIPE);
    }
}

/// The Cargo that runs this.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Cargo's target folder, as an absolute path.
pub fn target() -> anyhow::Result<PathBuf> {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    Ok(std::path::absolute(folder)?)
}

/// Runs `command` to its end, and returns its exit code.
pub fn status(command: &mut Command) -> anyhow::Result<u8> {
    let status = command.status().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(5))
}
