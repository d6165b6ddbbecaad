//! Candle's issues and pull requests about a failure.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An issue or a pull request of candle that is about a cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its address.
    pub url: String,
    /// How it relates to the cause.
    pub kind: Relation,
    /// Its title.
    pub title: String,
}

/// How an issue or a pull request relates to a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// It reports the cause.
    Report,
    /// It would fix the cause, and is in no release.
    Fix,
    /// It brought the cause into candle.
    Origin,
    /// It is about the same function, or a failure that looks the same.
    Related,
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Report => "reports it",
            Self::Fix => "would fix it",
            Self::Origin => "introduced it",
            Self::Related => "is related",
        })
    }
}

/// The links about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upstream<'a> {
    /// The title of a regression that probably has the same cause, if only that is known upstream.
    pub same_cause_as: Option<&'a str>,
    /// The link of the regression, unless the cause has it, too.
    pub kept: Option<&'a str>,
    /// The links of the cause.
    pub links: &'a [Link],
}

impl<'a> Upstream<'a> {
    /// The links of a regression and a cause; `None` if there is none.
    pub(super) fn of(kept: Option<&'a str>, links: &'a [Link]) -> Option<Self> {
        let kept = kept.filter(|url| links.iter().all(|link| link.url != *url));
        (kept.is_some() || !links.is_empty()).then_some(Self { same_cause_as: None, kept, links })
    }

    /// All addresses.
    pub fn urls(&self) -> impl Iterator<Item = &'a str> {
        self.kept.into_iter().chain(self.links.iter().map(|link| link.url.as_str()))
    }
}

impl fmt::Display for Upstream<'_> {
    /// The links in one line, each with its relation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let links = self.links.iter().map(|Link { url, kind, .. }| format!("{url} ({kind})"));
        let all: Vec<String> = self.kept.map(ToString::to_string).into_iter().chain(links).collect();
        f.write_str(&all.join(", "))
    }
}
