//! One issue about all causes of a theme: the decision, a table, and each cause with its test and its change.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::markdown::text::{folded, inline, unwrapped};
use super::markdown::{Source, pasted};
use super::why::{located, proven};
use super::words::SNUFFER;
use super::{links, metal};
use crate::CANDLE;
use crate::causes::{Relation, RootCause, Theme};
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
    text += "| | bug | symptom | devices, dtypes | change |\n|---|---|---|---|---|\n";
    for (number, part) in (1..).zip(parts) {
        let cause = part.cause;
        let on = [cause.on().join(", "), cause.dtypes.join(", ")];
        let on = on.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ");
        let cells = [cause.title.clone(), cause.symptom.to_string(), on, of_change(part)];
        let _ = writeln!(text, "| {number} | {} |", cells.map(|cell| inline(&cell)).join(" | "));
    }
    text += &changes(parts);
    if parts.iter().any(|part| part.cause.on().contains(&"cuda")) {
        let gpu =
            if names_a_gpu(theme, parts) { "A GPU was used only where one is named." } else { "No GPU was used." };
        text += &format!("\nOn CUDA, an emulator of PTX ran candle's kernels. {gpu}\n");
    }
    let mut files = Files { source, texts: BTreeMap::new() };
    for (number, part) in (1..).zip(parts) {
        text += &section(number, part, &mut files);
    }
    text += &format!("\n## Environment\n\n- candle {CANDLE}\n");
    let changed = (1..).zip(parts).filter(|(_, part)| part.change.is_some());
    let on_metal = |(number, part): (usize, &Part)| Some((number, metal::on_metal(part.cause, part.test.as_ref())?));
    let on_metal: Vec<(usize, &str)> = changed.filter_map(on_metal).collect();
    text + &format!("- Metal: not tried{}\n- found with {SNUFFER}\n", metal::of_all(&on_metal))
}

/// True if a text says what happened on a GPU of this name.
fn names_a_gpu(theme: &Theme, parts: &[Part]) -> bool {
    const GPUS: [&str; 4] = ["A100", "H100", "H200", "RTX "];
    let of_causes = parts.iter().flat_map(|part| [Some(&part.cause.explanation), part.cause.about_fix.as_ref()]);
    let mut texts = std::iter::once(&theme.decision).chain(of_causes.flatten());
    texts.any(|text| GPUS.iter().any(|name| text.contains(name)))
}

/// candle's own files of tests, to which tests are added one after the other.
struct Files {
    source: Source,
    texts: BTreeMap<String, String>,
}

impl Files {
    /// The text of the file that `test` belongs to, with the tests added so far.
    fn text(&mut self, test: &Test) -> &mut String {
        self.texts.entry(test.file.clone()).or_insert_with(|| (self.source)(&test.file).unwrap_or_default())
    }

    /// Adds `test` to its file, with all that it imports.
    fn add(&mut self, test: &Test) {
        let text = self.text(test);
        let added = format!("{}\n{}", test.imports.beside(text), test.added_to(text));
        text.push_str(&added);
    }
}

/// The changes that a cause has: here, and in pull requests.
fn of_change(Part { cause, test, change, .. }: &Part) -> String {
    let here = match (change, test) {
        (None, _) => None,
        (Some(_), _) if !cause.is_proven() => Some("below, not tried".to_string()),
        (Some(_), Some(_)) => Some("below, with a test".to_string()),
        (Some(_), None) => Some("below, without a test".to_string()),
    };
    let pulls = cause.upstream.iter().filter(|link| link.kind == Relation::Fix).map(|link| links::short(&link.url));
    let all: Vec<String> = here.into_iter().chain(pulls).collect();
    // The change of another cause may fix it.
    if all.is_empty() { "none".to_string() } else { all.join(", ") }
}

/// How many changes there are, and how many have a test. No proof is of the series as a whole.
fn changes(parts: &[Part]) -> String {
    let fixed: Vec<&Part> = parts.iter().filter(|part| part.change.is_some()).collect();
    if fixed.is_empty() {
        return String::new();
    }
    let tests = match fixed.iter().filter(|part| part.test.is_some()).count() {
        0 => "without tests".to_string(),
        1 if fixed.len() == 1 => "with a test".to_string(),
        all if all == fixed.len() => "each with a test".to_string(),
        some => format!("{some} of them with a test"),
    };
    match fixed.len() {
        1 => format!("\nOne commit, {tests}.\n"),
        several => format!("\n{} commits, in this order, {tests}.\n", numeral(several)),
    }
}

/// A number at the beginning of a sentence.
fn numeral(number: usize) -> String {
    const WORDS: [&str; 11] =
        ["Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve"];
    let word = number.checked_sub(2).and_then(|place| WORDS.get(place));
    word.map_or_else(|| number.to_string(), |word| (*word).to_string())
}

fn section(number: usize, Part { cause, places, test, change }: &Part, files: &mut Files) -> String {
    let mut text = format!("\n## {number}. {}\n\n", inline(&cause.title));
    text.extend(links::of_the_bug(&cause.upstream, change.is_some()).map(|known| known + "\n\n"));
    text += &format!("{}\n\n{}\n", unwrapped(&cause.explanation), located(cause, places));
    let mut line = |label: &str, said: &str| {
        let _ = write!(text, "\n{label} {}\n", unwrapped(said));
    };
    cause.expected.iter().for_each(|said| line("Expected:", said));
    cause.pytorch_besides().iter().for_each(|said| line("PyTorch:", said));
    cause.workaround.iter().for_each(|said| line("Workaround:", said));
    let others = links::others(&cause.upstream);
    if !others.is_empty() {
        text += &format!("\nSee also:\n\n{}", links::list(None, others));
    }
    if let Some(test) = test {
        text += &pasted(test, &format!("A test for {}", test.place()), files.text(test));
        files.add(test);
    }
    if let Some(change) = change {
        cause.about_fix.iter().for_each(|about| text += &format!("\n{}\n", unwrapped(about)));
        text += &folded("A change that fixes it", "diff", change);
        text.extend(proven(cause).map(|proof| format!("\n{proof}\n")));
    }
    text
}
