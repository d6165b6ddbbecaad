//! Fixes as a series of patches for `git am`: one for each cause, with its test.

use std::collections::BTreeMap;
use std::path::Path;

use similar::TextDiff;

use crate::candles::Unusable;
use crate::candles::fixed::{edited, source};
use crate::causes::{Edit, RootCause};
use crate::console;
use crate::program::Test;

/// Columns of a commit's message.
const WIDTH: usize = 72;

/// A series of patches.
#[derive(Debug, Default)]
pub struct Series {
    /// The name of each cause and its patch, in order. Each applies on top of those before it.
    pub patches: Vec<(String, String)>,
    /// The names of causes whose fixes do not apply, and why.
    pub left_out: Vec<(String, String)>,
}

/// The patches of `causes` by an author such as `Ada <ada@example.org>`, each with its test, for a checkout of candle or else for the
/// release under test.
pub fn series(causes: &[(&RootCause, Option<Test>)], checkout: Option<&Path>, author: &str) -> Series {
    let text = |file: &str| match checkout {
        None => source(file).ok(),
        Some(folder) => std::fs::read_to_string(folder.join(file)).ok(),
    };
    let mut series = Series::default();
    // The edits of each file so far. All find their places in the text as it was.
    let mut edits: BTreeMap<&str, Vec<(&str, &Edit)>> = BTreeMap::new();
    let mut subjects: Vec<(&RootCause, Vec<Change>)> = Vec::new();
    'causes: for (cause, test) in causes {
        let Some(fix) = &cause.fix else { continue };
        let mut own: BTreeMap<&str, Vec<(&str, &Edit)>> = BTreeMap::new();
        fix.edit.iter().for_each(|edit| own.entry(&edit.file).or_default().push((&cause.name, edit)));
        let mut changes = Vec::new();
        for (file, own) in &own {
            let before = edits.get(file).map_or(&[][..], Vec::as_slice);
            let with = |edits: &[(&str, &Edit)]| {
                let text = text(file).ok_or_else(|| Unusable(format!("there is no {file}")))?;
                edited(file, &text, edits)
            };
            match (with(before), with(&[before, own].concat())) {
                (Ok(old), Ok(new)) => changes.push(Change { file: (*file).to_string(), old: Some(old), new }),
                (Err(why), _) | (_, Err(why)) => {
                    series.left_out.push((cause.name.clone(), why.to_string()));
                    continue 'causes;
                }
            }
        }
        for (file, own) in own {
            edits.entry(file).or_default().extend(own);
        }
        changes.extend(test.as_ref().map(|test| Change {
            file: format!("{}/tests/{}.rs", test.package, cause.name.replace('-', "_")),
            old: None,
            new: test.text(),
        }));
        subjects.push((cause, changes));
    }
    let count = subjects.len();
    for (number, (cause, changes)) in (1..).zip(subjects) {
        series.patches.push((cause.name.clone(), patch(cause, &changes, author, (number, count))));
    }
    series
}

/// A file that a patch changes; one without an old text is new.
struct Change {
    file: String,
    old: Option<String>,
    new: String,
}

/// A patch as `git format-patch` writes it.
fn patch(cause: &RootCause, changes: &[Change], author: &str, (number, count): (usize, usize)) -> String {
    let mut text = format!("From {:040} Mon Sep 17 00:00:00 2001\nFrom: {author}\n", 0);
    text += &format!("Subject: [PATCH {number}/{count}] {}\n\n{}", cause.title, message(cause));
    text += "---\n\n";
    for Change { file, old, new } in changes {
        let diff = TextDiff::from_lines(old.as_deref().unwrap_or_default(), new);
        let (mode, before) = match old {
            Some(_) => (String::new(), format!("a/{file}")),
            None => ("new file mode 100644\n".to_string(), "/dev/null".to_string()),
        };
        let unified = diff.unified_diff().header(&before, &format!("b/{file}")).to_string();
        text += &format!("diff --git a/{file} b/{file}\n{mode}{unified}");
    }
    text + &format!("-- \nsnuffer {}\n\n", env!("CARGO_PKG_VERSION"))
}

/// Why, in a commit's message.
fn message(cause: &RootCause) -> String {
    let paragraphs = cause.explanation.trim().split("\n\n").map(ToString::to_string);
    let pytorch = cause.pytorch.iter().map(|text| format!("PyTorch: {text}"));
    let links = cause.upstream.iter().map(|link| format!("{} {}", link.url, link.kind));
    let last = std::iter::once("Found by fuzzing with snuffer.".to_string());
    let all: Vec<String> = paragraphs.chain(pytorch).chain(links).chain(last).map(|text| wrapped(&text)).collect();
    all.join("\n\n") + "\n"
}

/// `text` in lines of a commit's message.
fn wrapped(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    console::wrapped(&words.join(" "), WIDTH).join("\n")
}
