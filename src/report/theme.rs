//! One issue about all causes of a theme: the decision, a table, and each cause with its test and its change.

use std::fmt::Write as _;

use super::markdown::text::{folded, inline};
use crate::CANDLE;
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
    let mut text = format!("# {}\n\n{}\n\nSeen in candle {CANDLE}.", theme.title, theme.decision.trim());
    if parts.iter().any(|part| part.cause.on().contains(&"cuda")) {
        text += " Results on CUDA are those of a simulated device that executes candle's own kernels, unless a GPU is named.";
    }
    text += "\n\n";
    text += "| | what happens | seen as | where | since |\n|---|---|---|---|---|\n";
    for (number, Part { cause, .. }) in (1..).zip(parts) {
        let since = cause.since.as_ref().map_or_else(String::new, ToString::to_string);
        let at = cause.at.first().map_or_else(String::new, |at| format!("`{at}`"));
        let cells = [&cause.title, &cause.seen_as(), &at, &since].map(|text| inline(text));
        let _ = writeln!(text, "| {number} | {} |", cells.join(" | "));
    }
    text += &changes(key, parts);
    for (number, part) in (1..).zip(parts) {
        text += &section(number, part);
    }
    text
}

/// How many causes have a change, a test for it and a proof.
fn changes(key: &str, parts: &[Part]) -> String {
    let fixed: Vec<&Part> = parts.iter().filter(|part| part.change.is_some()).collect();
    if fixed.is_empty() {
        return String::new();
    }
    let tested = fixed.iter().filter(|part| part.test.is_some()).count();
    let mut text = format!(
        "\nCauses with a change below: {}; with a test for it: {tested}. `snuffer fixes export --theme {key}` writes the \
         changes as a series of commits.",
        fixed.len()
    );
    let proofs = fixed.iter().filter(|part| part.cause.is_proven()).filter_map(|part| part.cause.proof.as_ref());
    let (proven, passing) = proofs.fold((0, 0), |(proven, passing), proof| (proven + 1, passing + proof.fixes.len()));
    if proven > 0 {
        let _ = write!(
            text,
            " Proven changes: {proven}. With them, known failures that pass: {passing}; known cases that fail although they \
             passed before: none."
        );
    }
    text + "\n"
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
