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

/// A series of commits.
#[derive(Debug, Default)]
pub struct Series<'a> {
    /// The commits in order. Each applies on top of those before it.
    pub commits: Vec<Commit<'a>>,
    /// The names of causes whose fixes do not apply, and why.
    pub left_out: Vec<(String, String)>,
}

/// The fix of a cause, with its test.
#[derive(Debug)]
pub struct Commit<'a> {
    /// The cause.
    pub cause: &'a RootCause,
    changes: Vec<Change>,
}

/// The commits that fix `causes`, each with its test, in a checkout of candle or else in the release under test.
pub fn series<'a>(causes: &[(&'a RootCause, Option<&Test>)], checkout: Option<&Path>) -> Series<'a> {
    let text = |file: &str| match checkout {
        None => source(file).ok(),
        Some(folder) => std::fs::read_to_string(folder.join(file)).ok(),
    };
    let mut series = Series::default();
    // The edits of each file so far. All find their places in the text as it was.
    let mut edits: BTreeMap<&str, Vec<(&str, &Edit)>> = BTreeMap::new();
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
        series.commits.push(Commit { cause, changes });
    }
    series
}

/// A file that a commit changes; one without an old text is new.
#[derive(Debug)]
struct Change {
    file: String,
    old: Option<String>,
    new: String,
}

impl Change {
    /// It as a unified diff.
    fn diff(&self) -> String {
        let Self { file, old, new } = self;
        let before = old.as_ref().map_or_else(|| "/dev/null".to_string(), |_| format!("a/{file}"));
        let diff = TextDiff::from_lines(old.as_deref().unwrap_or_default(), new);
        diff.unified_diff().header(&before, &format!("b/{file}")).to_string()
    }
}

impl Commit<'_> {
    /// True if it has a test.
    pub fn has_test(&self) -> bool {
        self.changes.iter().any(|change| change.old.is_none())
    }

    /// The fix as a unified diff, without the test.
    pub fn fix(&self) -> String {
        self.changes.iter().filter(|change| change.old.is_some()).map(Change::diff).collect()
    }

    /// It as `git format-patch` writes the patch with this number of so many, by an author such as `Ada <ada@example.org>`.
    pub fn patch(&self, author: &str, (number, count): (usize, usize)) -> String {
        let Self { cause, changes } = self;
        let mut text = format!("From {:040} Mon Sep 17 00:00:00 2001\nFrom: {author}\n", 0);
        text += &format!("Subject: [PATCH {number}/{count}] {}\n\n{}", cause.title, message(cause));
        text += "---\n\n";
        for change in changes {
            let (file, mode) = (&change.file, if change.old.is_some() { "" } else { "new file mode 100644\n" });
            text += &format!("diff --git a/{file} b/{file}\n{mode}{}", change.diff());
        }
        text + &format!("-- \nsnuffer {}\n\n", env!("CARGO_PKG_VERSION"))
    }
}

/// Why, in a commit's message.
fn message(cause: &RootCause) -> String {
    let texts = std::iter::once(&cause.explanation).chain(&cause.about_fix);
    let paragraphs = texts.flat_map(|text| text.trim().split("\n\n")).map(ToString::to_string);
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
