//! Known issues of candle: a list such as `docs/known-issues.toml`, and which failures show an issue.

mod condition;
mod predicate;

use std::sync::LazyLock;

use serde::Deserialize;

use crate::case::Case;
use crate::device::Device;
use crate::oracle::Signature;
use crate::store::Finding;
use crate::store::regression::{Backend, Regression};

pub use predicate::Predicate;

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

/// A failure that may show a known issue: what a finding and a regression have in common.
#[derive(Debug, Clone)]
pub struct Sighting<'a> {
    /// What identifies it.
    pub signature: &'a Signature,
    /// The minimized case.
    pub case: &'a Case,
    /// The devices that show it.
    pub devices: Vec<Device>,
}

impl KnownIssue {
    /// The list that belongs to this build.
    pub fn own() -> &'static [Self] {
        &OWN
    }

    /// Reads a list. A mistake is one line.
    pub fn read(text: &str) -> Result<Vec<Self>, String> {
        let list: List = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            format!("line {line}: {}", error.message().replace('\n', ", "))
        })?;
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
        for predicate in &self.shown_by {
            if predicate.holds(sighting).map_err(|problem| format!("{}: {problem}", self.id))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The links that the title ends with: `(#3161, #3095)` are two issues of candle.
    pub fn links(&self) -> Vec<String> {
        let numbers = self.title.rsplit_once('(').map_or("", |(_, end)| end.trim_end_matches(')'));
        let number = |word: &str| word.strip_prefix('#')?.parse::<u32>().ok();
        let link = |number| format!("https://github.com/huggingface/candle/issues/{number}");
        numbers.split(", ").filter_map(number).map(link).collect()
    }
}

impl<'a> Sighting<'a> {
    /// The failure of `finding`.
    pub fn of(finding: &'a Finding) -> Self {
        let Finding { signature, violation, case, .. } = finding;
        Self { signature, case, devices: violation.devices().collect() }
    }

    /// The failure that `regression` keeps, if it has one.
    pub fn kept(regression: &'a Regression) -> Option<Self> {
        let device = |backend| match backend {
            Backend::Cpu => Device::Cpu,
            Backend::Cuda | Backend::Gpu => Device::Cuda(0),
            Backend::Sim => Device::Sim(0),
        };
        let devices = regression.fails.iter().filter_map(|condition| condition.device).map(device).collect();
        Some(Self { signature: regression.signature.as_ref()?, case: &regression.case, devices })
    }
}
