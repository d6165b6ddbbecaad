//! Who explains a failure: the regressions that keep it, and root causes, with the predicates that say which failures show each.

mod condition;
mod fix;
mod folder;
mod impact;
mod instead;
mod known_failures;
mod models;
mod predicate;
mod proof;
mod root_cause;
mod sighting;
mod since;
mod theme;
mod upstream;

pub use fix::{Edit, Fix, FixState, OnMetal, kept};
pub use folder::{FOLDER, SINCE, file, folder};
pub use impact::{Hit, Symptom, some_of};
pub use instead::Instead;
pub use known_failures::{Explanation, KnownFailures};
pub use models::Models;
pub use predicate::Predicate;
pub use proof::Proof;
pub use root_cause::{RootCause, cause_of, shown};
pub use sighting::Sighting;
pub use since::Since;
pub use theme::{Theme, Themes};
pub use upstream::{Link, Relation, Upstream};

/// A file of the list `text`, read as `T`. A mistake is one line.
fn parsed<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        format!("line {line}: {}", error.message().replace('\n', ", "))
    })
}
