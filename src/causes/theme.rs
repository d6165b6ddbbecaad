//! Themes: causes that are one decision of candle's maintainers, and one issue for them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A theme.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Theme {
    /// The title of an issue about all its causes.
    pub title: String,
    /// The decision, what PyTorch or a standard does, and what the causes have in common.
    pub decision: String,
}

/// Themes by the name that causes give them.
pub type Themes = BTreeMap<String, Theme>;
