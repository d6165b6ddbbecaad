//! What explains findings: issues that were known before, and root causes, with the predicates that say which failures show each.

mod condition;
mod fix;
mod folder;
mod known_issue;
mod predicate;
mod proof;
mod root_cause;
mod sighting;
mod similar;
mod since;

pub use fix::{Edit, Fix, kept};
pub use folder::{FOLDER, file, folder};
pub use known_issue::KnownIssue;
pub use predicate::Predicate;
pub use proof::Proof;
pub use root_cause::{RootCause, explain, shown};
pub use sighting::Sighting;
pub use similar::{likely, similar};
pub use since::Since;

/// A file of the list `text`, read as `T`. A mistake is one line.
fn parsed<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        format!("line {line}: {}", error.message().replace('\n', ", "))
    })
}

/// Whether one of `predicates` holds for `sighting`. An error is a predicate that speaks of what the op does not have.
fn any_holds(predicates: &[Predicate], sighting: &Sighting) -> Result<bool, String> {
    for predicate in predicates {
        if predicate.holds(sighting)? {
            return Ok(true);
        }
    }
    Ok(false)
}
