//! Failures of other people's tests that are known: how each shows, and its cause.

use anyhow::Context;

/// A failure that is known.
pub struct KnownFailure<'a> {
    /// A part of the line that says how it fails. A test that fails in another way is unexpected.
    pub fails: &'a str,
    /// Whose fault it is, with the source line that proves it.
    pub cause: &'a str,
}

impl<'a> KnownFailure<'a> {
    /// Reads an entry of `file`.
    pub fn of(entry: &'a toml::Table, file: &str) -> anyhow::Result<Self> {
        let text = |name: &str| {
            let text = entry.get(name).and_then(toml::Value::as_str).filter(|text| !text.is_empty());
            text.with_context(|| format!("{file}: each known failure needs a text `{name}`"))
        };
        Ok(Self { fails: text("fails")?, cause: text("cause")? })
    }
}

/// The most informative line about a failure: the device's diagnosis, else the panic, else the error.
pub fn failure(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.is_empty()).collect();
    let find = |sign: &str| lines.iter().position(|line| line.contains(sign));
    if let Some(at) = find("========= ").or_else(|| find("Assertion `")) {
        return lines[at].to_string();
    }
    if let Some(at) = find("panicked at ") {
        // The location and the message: an assertion of equality prints both sides on lines of their own.
        let message = lines[at + 1..].iter().take_while(|line| !line.starts_with("note: ")).take(3);
        return lines[at..=at].iter().chain(message).map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    }
    let at = find("Error: ").unwrap_or(lines.len().saturating_sub(1));
    lines.get(at).map_or_else(|| "no output".to_string(), |line| (*line).to_string())
}
