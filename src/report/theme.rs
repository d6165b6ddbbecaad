//! One issue about all causes of a theme: the decision, a table, and each cause with its test and its change.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::markdown::Source;
use super::markdown::text::{folded, inline, unwrapped};
use super::why::located;
use super::words::device;
use crate::CANDLE;
use crate::causes::{Proof, Relation, RootCause, Theme};
use crate::device::Device;
use crate::program::Test;

/// A cause in the issue.
#[derive(Debug)]
pub struct Part<'a> {
    /// The cause.
    pub cause: &'a RootCause,
    /// Where it is, in Markdown.
    pub places: Vec<String>,
    /// A test that fails because of it.
    pub test: Option<Test>,
    /// The change of candle that fixes it, as a unified diff that applies after the changes of the parts before it.
    pub change: Option<String>,
}

/// The issue about `theme`, with tests for the files that `source` reads.
pub fn theme(theme: &Theme, parts: &[Part], source: Source) -> String {
    let mut text = format!("# {}\n\n{}\n\n", theme.title, unwrapped(&theme.decision));
    text += "| | what happens | symptom | devices, dtypes | change |\n|---|---|---|---|---|\n";
    for (number, part) in (1..).zip(parts) {
        let cause = part.cause;
        let on = [cause.on().join(", "), cause.dtypes.join(", ")];
        let on = on.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ");
        let cells = [cause.title.clone(), cause.symptom.to_string(), on, of_change(part)];
        let _ = writeln!(text, "| {number} | {} |", cells.map(|cell| inline(&cell)).join(" | "));
    }
    text += &changes(parts);
    if parts.iter().any(|part| part.cause.on().contains(&"cuda")) {
        text += "\nNothing was run on a GPU, unless one is named: CUDA is a simulated device, which executes the PTX of candle's own kernels.\n";
    }
    let mut files = Files { source, texts: BTreeMap::new() };
    for (number, part) in (1..).zip(parts) {
        text += &section(number, part, &mut files);
    }
    text += &format!("\n## Environment\n\n- candle {CANDLE}\n");
    text += "- Metal: not tried; a test skips it unless all devices share the code, or the change is also for Metal\n";
    text + "- found with snuffer\n"
}

/// candle's own files of tests, to which tests are added one after the other.
struct Files {
    source: Source,
    texts: BTreeMap<String, String>,
}

impl Files {
    /// The text of `test` for the end of its file, which has it from then on.
    fn add(&mut self, test: &Test) -> String {
        let text = self.texts.entry(test.file.clone()).or_insert_with(|| (self.source)(&test.file).unwrap_or_default());
        let added = test.added_to(text);
        text.push_str(&added);
        added
    }
}

/// The changes that a cause has: here, and in pull requests.
fn of_change(Part { cause, test, change, .. }: &Part) -> String {
    let here = match (change, test) {
        (None, _) => None,
        (Some(_), _) if !cause.is_proven() => Some("below, not tried".to_string()),
        (Some(_), Some(_)) => Some("with a test".to_string()),
        (Some(_), None) => Some("without a test".to_string()),
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
    text += " They apply in this order.";
    let proofs: Vec<&Proof> =
        fixed.iter().filter(|part| part.cause.is_proven()).filter_map(|part| part.cause.proof.as_ref()).collect();
    if !proofs.is_empty() {
        let passing: usize = proofs.iter().map(|proof| proof.fixes.len()).sum();
        let on: BTreeSet<Device> = proofs.iter().flat_map(|proof| proof.devices.iter().copied()).collect();
        let on: Vec<String> = on.into_iter().map(device).collect();
        let _ = write!(
            text,
            " With {} of them, {passing} failing cases pass, and no case of snuffer fails that passed before ({}).",
            proofs.len(),
            on.join("; ")
        );
    }
    text + "\n"
}

fn section(number: usize, Part { cause, places, test, change }: &Part, files: &mut Files) -> String {
    let title = inline(&cause.title);
    let mut text =
        format!("\n## {number}. {title}\n\n{}\n\n{}\n", unwrapped(&cause.explanation), located(cause, places));
    let mut line = |label: &str, said: &str| {
        let _ = write!(text, "\n{label} {}\n", unwrapped(said));
    };
    cause.expected.iter().for_each(|said| line("Expected:", said));
    cause.pytorch_besides().iter().for_each(|said| line("PyTorch:", said));
    cause.workaround.iter().for_each(|said| line("Workaround:", said));
    let links: Vec<String> = cause.upstream.iter().map(|link| format!("{} ({})", link.url, link.kind)).collect();
    if !links.is_empty() {
        line("See also", &format!("{}.", links.join(", ")));
    }
    if let Some(test) = test {
        text += &folded(&format!("A test for {}", test.place()), "rust", &files.add(test));
    }
    if let Some(change) = change {
        cause.about_fix.iter().for_each(|about| text += &format!("\n{}\n", unwrapped(about)));
        text += &folded("A change that fixes it", "diff", change);
    }
    text
}
