//! One issue about all causes of a theme: the decision, a table, and each cause with its test and its change.

use std::fmt::Write as _;

use super::markdown::text::{folded, inline};
use crate::causes::{RootCause, Theme};
use crate::program::Test;

/// A cause in the issue.
#[derive(Debug)]
pub struct Part<'a> {
    /// The cause.
    pub cause: &'a RootCause,
    /// A test that fails because of it.
    pub test: Option<Test>,
    /// The change of candle that fixes it, as a unified diff.
    pub change: Option<String>,
}

/// The issue about `theme`, whose name is `key`.
pub fn theme(key: &str, theme: &Theme, parts: &[Part]) -> String {
    let mut text = format!("# {}\n\n{}\n\n", theme.title, theme.decision.trim());
    text += "| | what happens | seen as | where | since |\n|---|---|---|---|---|\n";
    for (number, Part { cause, .. }) in (1..).zip(parts) {
        let since = cause.since.as_ref().map_or_else(String::new, ToString::to_string);
        let at = cause.at.first().map_or_else(String::new, |at| format!("`{at}`"));
        let cells = [&cause.title, &cause.seen_as(), &at, &since].map(|text| inline(text));
        let _ = writeln!(text, "| {number} | {} |", cells.join(" | "));
    }
    let fixes = parts.iter().filter(|part| part.change.is_some()).count();
    if fixes > 0 {
        let mended: usize =
            parts.iter().filter_map(|part| part.cause.proof.as_ref()).map(|proof| proof.mends.len()).sum();
        let _ = write!(
            text,
            "\n{fixes} of these have a change below, each with a test; with them {mended} known failures pass, and no case fails that \
             passed before. `snuffer fixes export --theme {key}` writes them as a series of commits.\n"
        );
    }
    for (number, part) in (1..).zip(parts) {
        text += &section(number, part);
    }
    text
}

fn section(number: usize, Part { cause, test, change }: &Part) -> String {
    let mut text = format!("\n## {number}. {}\n\n{}\n", inline(&cause.title), cause.explanation.trim());
    let mut line = |label: &str, said: &str| {
        let _ = write!(text, "\n{label} {}\n", said.trim());
    };
    cause.pytorch.iter().for_each(|said| line("PyTorch:", said));
    cause.workaround.iter().for_each(|said| line("Until it is fixed:", said));
    for link in &cause.upstream {
        line("See also", &format!("{} ({}).", link.url, link.kind));
    }
    if let Some(test) = test {
        text += &folded(&format!("A test for {}/tests", test.package), "rust", &test.text());
    }
    if let Some(change) = change {
        text += &folded("A change that fixes it", "diff", change);
    }
    text
}
