//! Groups of findings that have the same cause, or likely have, even for different ops.

use std::collections::BTreeMap;

use super::RootCause;
use crate::store::{Cause, Finding};

/// The cause of `finding` in words: the title of the root cause that explains it, or else what the finding itself shows.
pub fn likely(finding: &Finding) -> Option<String> {
    let root = RootCause::of(finding).map(|cause| cause.title.clone());
    root.or_else(|| Some(Cause::of_finding(finding)?.to_string()))
}

/// Groups of at least two findings with the same likely cause, the largest first: the cause and the findings' names.
pub fn similar(findings: &[(String, Finding)]) -> Vec<(String, Vec<&str>)> {
    let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, finding) in findings {
        if let Some(cause) = likely(finding) {
            groups.entry(cause).or_default().push(name);
        }
    }
    let mut groups: Vec<_> = groups.into_iter().filter(|(_, names)| names.len() > 1).collect();
    groups.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    groups
}
