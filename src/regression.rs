//! A regression: a case that is kept for good, with where it comes from and how things stand.

use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::oracle::Signature;

/// A case that is kept for good. The test suite asserts what candle does with it *today*, right or wrong, in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regression {
    /// What it is about, in a sentence.
    pub title: String,
    /// How things stand.
    pub status: Status,
    /// The upstream issue or pull request, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// How it was found.
    pub provenance: String,
    /// The devices that it was seen on.
    pub devices: Vec<String>,
    /// The violation that it shows; none for what is by design or fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
    /// The case.
    pub case: Case,
}

/// How things stand with a regression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It still happens.
    Open,
    /// It no longer does.
    Fixed,
    /// candle means it.
    ByDesign,
}

impl Regression {
    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let regression: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        regression.case.check().map_err(|error| error.to_string())?;
        Ok(regression)
    }

    /// The text form.
    pub fn to_text(&self) -> String {
        toml::to_string(self).expect("a regression has no map keys that TOML cannot write")
    }
}
