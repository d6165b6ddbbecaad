//! Known issues of candle: a list such as `docs/known-issues.toml`, and which failures show an issue.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{Predicate, Sighting, any_holds, parsed};

/// The issues of the list that belongs to this build.
static OWN: LazyLock<Vec<KnownIssue>> = LazyLock::new(|| {
    KnownIssue::read(include_str!("../../docs/known-issues.toml")).expect("`tests/it/known_issues.rs` reads the list")
});

/// A known issue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownIssue {
    /// Its name in the list.
    pub id: String,
    /// What is wrong with candle.
    pub title: String,
    /// A failure for which one of these holds shows it.
    #[serde(default)]
    pub shown_by: Vec<Predicate>,
    /// Why no failure can show it.
    #[serde(default)]
    pub unseen: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    issue: Vec<KnownIssue>,
}

impl KnownIssue {
    /// The list that belongs to this build.
    pub fn own() -> &'static [Self] {
        &OWN
    }

    /// Reads a list. A mistake is one line.
    pub fn read(text: &str) -> Result<Vec<Self>, String> {
        let list: List = parsed(text)?;
        for (place, issue) in list.issue.iter().enumerate() {
            if issue.shown_by.is_empty() && issue.unseen.is_none() {
                let id = &issue.id;
                return Err(format!("{id}: say in `shown_by` which findings show it, or in `unseen` why none can"));
            }
            if list.issue[..place].iter().any(|earlier| earlier.id == issue.id) {
                return Err(format!("{}: two issues have this id", issue.id));
            }
        }
        Ok(list.issue)
    }

    /// Whether `sighting` shows it. An error is a predicate that speaks of what the op does not have.
    pub fn is_shown_by(&self, sighting: &Sighting) -> Result<bool, String> {
        any_holds(&self.shown_by, sighting).map_err(|problem| format!("{}: {problem}", self.id))
    }

    /// The links that the title ends with: `(#3161, #3095)` are two issues of candle.
    pub fn links(&self) -> Vec<String> {
        let numbers = self.title.rsplit_once('(').map_or("", |(_, end)| end.trim_end_matches(')'));
        let number = |word: &str| word.strip_prefix('#')?.parse::<u32>().ok();
        let link = |number| format!("https://github.com/huggingface/candle/issues/{number}");
        numbers.split(", ").filter_map(number).map(link).collect()
    }
}
