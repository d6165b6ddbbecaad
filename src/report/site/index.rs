//! The first page: the worst findings, the matrix, and the list of findings with its filters.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Contents;
use super::entry::{Entry, Line};
use super::mark::{Look, Mark};
use super::matrix::{Matrix, matrix};
use crate::report::Summary;
use crate::store::Record;

/// The first page.
#[derive(Debug, Serialize)]
pub struct Index<'a> {
    campaigns: usize,
    cases: u64,
    versions: BTreeSet<&'a str>,
    legend: Vec<Legend>,
    headline: &'static str,
    worst: Vec<Line<'a>>,
    matrix: Matrix<'a>,
    filters: Vec<Filter<'a>>,
    /// The worst first.
    items: Vec<Item<'a>>,
}

/// A mark, and how many findings have it.
#[derive(Debug, Serialize)]
struct Legend {
    mark: Look,
    findings: usize,
}

/// A filter of the list; `values` are those that occur, each with its label and count.
#[derive(Debug, Serialize)]
struct Filter<'a> {
    name: &'static str,
    values: Vec<(String, &'a str, usize)>,
}

/// A finding in the list.
#[derive(Debug, Serialize)]
struct Item<'a> {
    name: &'a str,
    mark: Look,
    op: &'a str,
    family: &'a str,
    oracle: &'a str,
    kind: &'a str,
    site: String,
    dtype: &'a str,
    devices: Vec<String>,
    status: String,
    detail: &'a str,
}

/// The first page of `contents`.
pub fn page<'a>(contents: &'a Contents, entries: &'a [Entry<'a>]) -> Index<'a> {
    let with = |mark: Mark| entries.iter().filter(move |entry| entry.mark() == mark);
    let legend = |mark: Mark| Legend { mark: mark.look(), findings: with(mark).count() };
    let records: Vec<&Record> = contents.campaigns.iter().map(|campaign| &campaign.record).collect();
    let Summary { ran, found } = Summary::new(&records, &contents.findings, &contents.known);
    let headline = if found.known < found.findings {
        "The worst, what nothing explains first"
    } else {
        "The worst, one of each cause first"
    };
    let worst = found.worst.iter().filter_map(|item| entries.iter().find(|entry| entry.name == item.name));
    Index {
        campaigns: ran.campaigns,
        cases: ran.counts.cases,
        versions: entries.iter().map(|entry| entry.finding.origin.versions.as_str()).collect(),
        legend: Mark::all().map(legend).collect(),
        headline,
        worst: worst.map(Entry::line).collect(),
        matrix: matrix(contents, entries),
        filters: filters(entries),
        items: Mark::all().flat_map(with).map(item).collect(),
    }
}

fn item<'a>(entry: &'a Entry<'a>) -> Item<'a> {
    let signature = &entry.finding.signature;
    Item {
        name: entry.name,
        mark: entry.mark().look(),
        op: &signature.op,
        family: entry.family(),
        oracle: signature.oracle.name(),
        kind: signature.kind.name(),
        site: signature.site.to_string(),
        dtype: entry.dtype,
        devices: entry.devices.iter().map(ToString::to_string).collect(),
        status: entry.explanation.status(),
        detail: entry.finding.violation.detail.lines().next().unwrap_or_default(),
    }
}

/// The filters in the order in which they are shown.
fn filters<'a>(entries: &'a [Entry<'a>]) -> Vec<Filter<'a>> {
    let filter = |name, of: &dyn Fn(&'a Entry<'a>) -> Vec<String>| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for value in entries.iter().flat_map(of) {
            *counts.entry(value).or_default() += 1;
        }
        Filter { name, values: counts.into_iter().map(|(value, count)| (value, "", count)).collect() }
    };
    let signature = |entry: &'a Entry| &entry.finding.signature;
    let marks = Mark::all().filter_map(|mark| {
        let count = entries.iter().filter(|entry| entry.mark() == mark).count();
        let Look { name, meaning, .. } = mark.look();
        (count > 0).then(|| (name.to_string(), meaning, count))
    });
    vec![
        filter("family", &|entry| vec![entry.family().to_string()]),
        filter("op", &|entry| vec![signature(entry).op.clone()]),
        Filter { name: "rank", values: marks.collect() },
        filter("status", &|entry| vec![entry.explanation.status()]),
        filter("kind", &|entry| vec![signature(entry).kind.to_string()]),
        filter("oracle", &|entry| vec![signature(entry).oracle.to_string()]),
        filter("device", &|entry| entry.devices.iter().map(ToString::to_string).collect()),
        filter("dtype", &|entry| vec![entry.dtype.to_string()]),
    ]
}
