//! One issue about all causes of a theme: the decision, a table, and each cause with its test and its change.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::markdown::text::{folded, inline};
use super::markdown::{Source, pasted};
use super::words::device;
use crate::CANDLE;
use crate::causes::{Proof, Relation, RootCause, Since, Theme};
use crate::device::Device;
use crate::program::Test;

/// A cause in the issue.
#[derive(Debug)]
pub struct Part<'a> {
    /// The cause.
    pub cause: &'a RootCause,
    /// Where it is, in Markdown.
    pub places: String,
    /// A test that fails because of it.
    pub test: Option<Test>,
    /// The change of candle that fixes it, as a unified diff.
    pub change: Option<String>,
}

/// The issue about `theme`, with tests for the files that `source` reads.
pub fn theme(theme: &Theme, parts: &[Part], source: Source) -> String {
    let mut text = format!("# {}\n\n{}\n\nSeen in candle {CANDLE}.", theme.title, theme.decision.trim());
    if parts.iter().any(|part| part.cause.on() == ["cuda"]) {
        text += " Results on CUDA are those of a simulated device that executes candle's own kernels, unless a GPU is named.";
    }
    text +=
        "\n\n| | what happens | symptom | devices, dtypes | calls | since | change |\n|---|---|---|---|---|---|---|\n";
    for (number, part) in (1..).zip(parts) {
        let cause = part.cause;
        let since = cause.since.as_ref().map_or_else(|| "?".to_string(), Since::short);
        let on = [cause.on().join(", "), cause.dtypes.join(", ")];
        let on = on.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ");
        let calls = cause.hit.key().to_string();
        let cells = [cause.title.clone(), cause.symptom.to_string(), on, calls, since, of_change(part)];
        let _ = writeln!(text, "| {number} | {} |", cells.map(|cell| inline(&cell)).join(" | "));
    }
    text += "\nSince: found by running older releases on the CPU. ≤: there or earlier. ?: not tried.\n";
    text += &changes(parts);
    for (number, part) in (1..).zip(parts) {
        text += &section(number, part, source);
    }
    text
}

/// The changes that a cause has: here, and in pull requests.
fn of_change(Part { cause, test, change, .. }: &Part) -> String {
    let here = match (change, test) {
        (None, _) => None,
        (Some(_), _) if !cause.is_proven() => Some("below, not tried".to_string()),
        (Some(_), Some(_)) => Some("below, with a test".to_string()),
        (Some(_), None) => Some("below".to_string()),
    };
    let pulls = cause.upstream.iter().filter(|link| link.kind == Relation::Fix).map(|link| link.url.clone());
    let all: Vec<String> = here.into_iter().chain(pulls).collect();
    if all.is_empty() { "none".to_string() } else { all.join(", ") }
}

/// How many causes have a change and a test for it, and what was tried.
fn changes(parts: &[Part]) -> String {
    let fixed: Vec<&Part> = parts.iter().filter(|part| part.change.is_some()).collect();
    if fixed.is_empty() {
        return String::new();
    }
    let tested = fixed.iter().filter(|part| part.test.is_some()).count();
    let mut text = format!("\n{} of {} have a change below, {tested} of these with a test.", fixed.len(), parts.len());
    let proofs: Vec<&Proof> =
        fixed.iter().filter(|part| part.cause.is_proven()).filter_map(|part| part.cause.proof.as_ref()).collect();
    if !proofs.is_empty() {
        let passing: usize = proofs.iter().map(|proof| proof.fixes.len()).sum();
        let on: BTreeSet<Device> = proofs.iter().flat_map(|proof| proof.devices.iter().copied()).collect();
        let on: Vec<String> = on.into_iter().map(device).collect();
        let _ = write!(
            text,
            " Tried on {}: {} of the changes. {passing} failing cases pass, and none fails that passed before. Each was tried beside \
             changes of other parts of candle, not as this series.",
            on.join(" and "),
            proofs.len()
        );
    }
    text + "\n"
}

fn section(number: usize, Part { cause, places, test, change }: &Part, source: Source) -> String {
    let mut text = format!("\n## {number}. {}\n\n{}\n\nIn {places}.\n", inline(&cause.title), cause.explanation.trim());
    let mut line = |label: &str, said: &str| {
        let _ = write!(text, "\n{label} {}\n", said.trim());
    };
    cause.pytorch.iter().for_each(|said| line("PyTorch:", said));
    cause.workaround.iter().for_each(|said| line("Workaround:", said));
    let links: Vec<String> = cause.upstream.iter().map(|link| format!("{} ({})", link.url, link.kind)).collect();
    if !links.is_empty() {
        line("See also", &format!("{}.", links.join(", ")));
    }
    if let Some(test) = test {
        text += &folded(&format!("A test for the end of {}", test.file), "rust", &pasted(test, source));
    }
    if let Some(change) = change {
        text += &folded("A change that fixes it", "diff", change);
    }
    text
}
