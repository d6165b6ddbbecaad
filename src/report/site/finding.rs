//! The page of one finding.

use std::path::Path;

use serde::Serialize;

use super::Contents;
use super::entry::Entry;
use super::mark::Look;
use crate::causes::{Explanation, Link, Relation, Sighting, Upstream};
use crate::ops::{Contract, own};
use crate::oracle::{Evidence, judge_on};
use crate::outcome::{Observation, Outcome};
use crate::program::call;
use crate::report::{promised, reason, words};
use crate::store::{DEFAULT, id};

/// A finding's page.
#[derive(Debug, Serialize)]
pub struct FindingPage<'a> {
    name: &'a str,
    mark: Look,
    op: &'a str,
    kind: &'a str,
    oracle: &'a str,
    site: String,
    what: String,
    dtype: &'a str,
    devices: Vec<String>,
    /// Why it fails, if this build has the op.
    reason: Option<String>,
    detail: &'a str,
    outcomes: Vec<Seen>,
    promised: Option<String>,
    promise: &'a str,
    source: Option<String>,
    case: String,
    /// Where the command runs.
    folder: &'static str,
    command: String,
    failed: u32,
    tries: u32,
    unchecked: String,
    versions: &'a str,
    hardware: Vec<String>,
    seed: u64,
    index: u64,
    attempts: usize,
    minimal: bool,
    status: String,
    known: Option<Known<'a>>,
    root: Option<Root<'a>>,
    upstream: Option<Links<'a>>,
}

/// What a device did.
#[derive(Debug, Serialize)]
struct Seen {
    device: String,
    outcome: String,
    again: Option<String>,
    contiguous: Option<String>,
    /// What the call that candle has for the same did, if the case was compared with it.
    sibling: Option<String>,
    /// The results for single samples of a batch, by their places in it.
    samples: Vec<(usize, String)>,
    broken: Option<String>,
}

/// The regression with the same signature.
#[derive(Debug, Serialize)]
struct Known<'a> {
    title: &'a str,
    upstream: Option<&'a str>,
    reason: Option<&'a str>,
}

/// The root cause.
#[derive(Debug, Serialize)]
struct Root<'a> {
    name: &'a str,
    title: &'a str,
    explanation: &'a str,
    at: &'a [String],
    workaround: Option<&'a str>,
    /// The command that shows its fix, if it has one.
    fix: Option<String>,
}

/// What else is known upstream: about the finding, or about a regression with probably the same cause.
#[derive(Debug, Serialize)]
struct Links<'a> {
    title: Option<&'a str>,
    links: Vec<(&'a str, Option<String>)>,
}

impl<'a> Links<'a> {
    /// Those of `upstream` except the one that the page has already.
    fn new(upstream: Upstream<'a>, shown: Option<&str>) -> Option<Self> {
        let kept = upstream.kept.map(|url| (url, None));
        let of_cause = upstream.links.iter().map(|Link { url, kind, .. }| (url.as_str(), Some(*kind)));
        let links = kept.into_iter().chain(of_cause).filter(|(url, _)| Some(*url) != shown);
        let links: Vec<_> = links.map(|(url, kind)| (url, kind.as_ref().map(Relation::to_string))).collect();
        (!links.is_empty()).then_some(Self { title: upstream.same_cause_as, links })
    }
}

/// The page of `entry`.
pub fn page<'a>(entry: &'a Entry<'a>, contents: &'a Contents) -> FindingPage<'a> {
    let finding = entry.finding;
    let (signature, reproduction, origin) = (&finding.signature, &finding.reproduction, &finding.origin);
    let evidence = entry.evidence.as_ref();
    let Explanation { state, cause, .. } = &entry.explanation;
    let known = state.regression().map(|regression| Known {
        title: &regression.title,
        upstream: regression.upstream.as_deref(),
        reason: regression.reason.as_deref(),
    });
    let shown = known.as_ref().and_then(|known| known.upstream);
    let upstream = contents.known.upstream(&Sighting::of(finding)).and_then(|other| Links::new(other, shown));
    let (option, folder) = store(&contents.store);
    let root = cause.map(|cause| Root {
        name: &cause.name,
        title: &cause.title,
        explanation: cause.explanation.trim(),
        at: &cause.at,
        workaround: cause.workaround.as_deref(),
        fix: cause.fix.as_ref().map(|_| format!("snuffer causes {}", cause.name)),
    });
    FindingPage {
        root,
        name: entry.name,
        mark: entry.mark().look(),
        op: &signature.op,
        kind: signature.kind.name(),
        oracle: signature.oracle.name(),
        site: signature.site.to_string(),
        what: words::what(signature),
        dtype: entry.dtype,
        devices: entry.devices.iter().map(ToString::to_string).collect(),
        reason: evidence.map(|evidence| reason(evidence, &finding.violation)),
        detail: &finding.violation.detail,
        outcomes: finding.observations.iter().map(|seen| outcome(evidence, seen)).collect(),
        promised: evidence.map(|evidence| expected(&evidence.contract)),
        promise: &finding.promise,
        source: evidence.map(|evidence| call(evidence.op, evidence.case)),
        case: finding.case.to_text(),
        folder,
        command: format!("snuffer replay {}{option}", id(entry.name)),
        failed: reproduction.failed,
        tries: reproduction.tries,
        unchecked: reproduction.unchecked.to_string(),
        versions: &origin.versions,
        hardware: origin.hardware.iter().map(|(device, hardware)| format!("{device}: {hardware}")).collect(),
        seed: origin.seed,
        index: origin.index,
        attempts: origin.attempts,
        minimal: origin.minimal,
        status: entry.explanation.status(),
        known,
        upstream,
    }
}

/// The option of commands that names the store, and where they run: a path of this machine would say nothing to a reader elsewhere.
fn store(typed: &str) -> (String, &'static str) {
    let path = Path::new(typed);
    let (store, folder) = match path.file_name().and_then(|name| name.to_str()).filter(|_| path.is_absolute()) {
        Some(name) => (name, "In the folder that holds the store:"),
        None => (typed, "Where the site was made:"),
    };
    (if store == DEFAULT { String::new() } else { format!(" --store {store}") }, folder)
}

fn expected(contract: &Contract) -> String {
    match contract {
        Contract::Unspecified(why) => format!("only the process and the device must survive: {why}"),
        Contract::Accepts { .. } | Contract::Rejects(_) => promised(contract),
    }
}

fn outcome(evidence: Option<&Evidence>, seen: &Observation) -> Seen {
    let samples = evidence.map_or_else(Vec::new, |evidence| own::samples(evidence.case));
    Seen {
        device: seen.device.to_string(),
        outcome: seen.outcome.summary(),
        again: seen.again.as_ref().map(Outcome::summary),
        contiguous: seen.contiguous.as_ref().map(Outcome::summary),
        sibling: seen.sibling.as_ref().map(Outcome::summary),
        samples: samples.iter().zip(&seen.samples).map(|(sample, alone)| (sample.place, alone.summary())).collect(),
        broken: evidence.and_then(|evidence| broken(evidence, seen)),
    }
}

/// The kinds and the oracles of the violations in one device's observation.
fn broken(evidence: &Evidence, seen: &Observation) -> Option<String> {
    let broken: Vec<String> =
        judge_on(evidence, seen).iter().map(|it| format!("{} ({})", it.kind, it.oracle)).collect();
    (!broken.is_empty()).then(|| broken.join(", "))
}
