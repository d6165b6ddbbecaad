//! The page of causes: what each is, and the findings that it explains; before them the findings that no cause explains.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Contents;
use super::entry::{Entry, Line};
use super::mark::{Look, Mark};
use crate::causes::{FixState, Link, RootCause};

/// The page.
#[derive(Debug, Serialize)]
pub struct CausesPage<'a> {
    findings: usize,
    /// The findings that no cause explains.
    unexplained: Vec<Line<'a>>,
    /// The causes that explain a finding, first those that hit most people.
    causes: Vec<Cause<'a>>,
}

/// A cause.
#[derive(Debug, Serialize)]
struct Cause<'a> {
    name: &'a str,
    title: &'a str,
    mark: Look,
    explanation: &'a str,
    about_fix: Option<&'a str>,
    at: &'a [String],
    since: Option<String>,
    upstream: Vec<(&'a Link, String)>,
    workaround: Option<&'a str>,
    pytorch: Option<&'a str>,
    fix: FixState,
    /// Its fix as a unified diff.
    diff: Option<&'a str>,
    findings: Vec<Line<'a>>,
}

/// The page of the causes of `entries`.
pub fn page<'a>(contents: &'a Contents, entries: &'a [Entry<'a>]) -> CausesPage<'a> {
    let mut by_cause: BTreeMap<Option<&str>, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        by_cause.entry(entry.explanation.cause.map(|cause| cause.name.as_str())).or_default().push(entry);
    }
    let unexplained = lines(by_cause.remove(&None).unwrap_or_default());
    let explaining =
        contents.known.causes.iter().filter_map(|cause| Some((cause, by_cause.remove(&Some(&cause.name))?)));
    let mut causes: Vec<(&RootCause, Vec<&Entry>)> = explaining.collect();
    causes.sort_by(|(one, _), (other, _)| one.order().cmp(&other.order()));
    let causes = causes.into_iter().map(|(cause, own)| shown(cause, contents, own)).collect();
    CausesPage { findings: entries.len(), unexplained, causes }
}

fn shown<'a>(cause: &'a RootCause, contents: &'a Contents, own: Vec<&'a Entry<'a>>) -> Cause<'a> {
    Cause {
        name: &cause.name,
        title: &cause.title,
        mark: Mark::Found(cause.rank).look(),
        explanation: cause.explanation.trim(),
        about_fix: cause.about_fix.as_deref(),
        at: &cause.at,
        since: cause.since.as_ref().map(ToString::to_string),
        upstream: cause.upstream.iter().map(|link| (link, link.kind.to_string())).collect(),
        workaround: cause.workaround.as_deref(),
        pytorch: cause.pytorch.as_deref(),
        fix: cause.fix_state(),
        diff: contents.fixes.get(&cause.name).map(String::as_str),
        findings: lines(own),
    }
}

/// The findings, the worst first.
fn lines<'a>(mut entries: Vec<&'a Entry<'a>>) -> Vec<Line<'a>> {
    entries.sort_by_key(|entry| entry.rank);
    entries.into_iter().map(Entry::line).collect()
}
