//! A regression: a case that is kept for good, with its origin, its status, and where it is expected to fail.

mod check;
mod condition;
mod folder;

use semver::Version;
use serde::de::IntoDeserializer;
use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::device::Device;
use crate::ops::accept;
use crate::oracle::{OracleName, Signature};
use crate::outcome::Observation;
use crate::store::{Finding, Platform};

pub use check::{Surprise, failures, signed, surprises};
pub use condition::{Backend, Condition};
pub use folder::{FOLDER, forget, known, name, nearby, path, read, slug};

/// A case that is kept for good. The test suite asserts what candle does with it *today*, right or wrong, in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regression {
    /// What happens, in a sentence.
    pub title: String,
    /// Its status.
    pub status: Status,
    /// The upstream issue or pull request, if one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The first release of candle in which it no longer happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_in: Option<Version>,
    /// Why it is not reported, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How it was found.
    pub provenance: String,
    /// Where it is expected to fail: on any of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fails: Vec<Condition>,
    /// The violation that it shows. None if the case breaks no promise, or only in the way of another regression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
    /// The case.
    pub case: Case,
}

/// The word for a finding without a regression.
const NEW: &str = "new";

/// The status of a regression. A finding without a regression is *new*.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It happens, and is not reported upstream yet.
    Open,
    /// It is reported: `upstream` says where.
    Filed,
    /// It no longer happens from the release `fixed_in` on.
    Fixed,
    /// candle intends it.
    ByDesign,
    /// It happens only sometimes, so neither outcome proves anything.
    Flaky,
    /// It happens, and will not be changed.
    Wontfix,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 6] = [Self::Open, Self::Filed, Self::Fixed, Self::ByDesign, Self::Flaky, Self::Wontfix];

    /// In words, of a finding where it is not expected.
    fn unexpected(self) -> String {
        if self == Self::Fixed { "fixed but back".to_string() } else { format!("{self} but not expected there") }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::Filed => "filed",
            Self::Fixed => "fixed",
            Self::ByDesign => "by design",
            Self::Flaky => "flaky",
            Self::Wontfix => "wontfix",
        })
    }
}

impl std::str::FromStr for Status {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let unknown = |_: serde::de::value::Error| {
            format!("`{name}` is not a status; use `open`, `filed`, `fixed`, `by-design`, `flaky` or `wontfix`")
        };
        Self::deserialize(name.into_deserializer()).map_err(unknown)
    }
}

/// What a regression is expected to do on a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Fail with its signature.
    Fails,
    /// Not fail with its signature.
    Passes,
    /// Either: it is flaky, or only a device that checks each access can tell.
    Either,
}

/// How a finding relates to the regressions.
#[derive(Debug, Clone, Copy)]
pub enum TriageState<'a> {
    /// No regression has its signature, or one that needs less.
    New,
    /// A regression has it and expects it there.
    Known(&'a Regression),
    /// A regression has it, but expects the case to pass there.
    Unexpected(&'a Regression),
}

impl<'a> TriageState<'a> {
    /// The regression with the same signature.
    pub fn regression(&self) -> Option<&'a Regression> {
        match *self {
            Self::New => None,
            Self::Known(regression) | Self::Unexpected(regression) => Some(regression),
        }
    }

    /// The status in a word or two: `new`, `open`, …, `fixed but back`.
    pub fn word(&self) -> String {
        match self {
            Self::New => NEW.to_string(),
            Self::Known(regression) => regression.status.to_string(),
            Self::Unexpected(regression) => regression.status.unexpected(),
        }
    }

    /// All that [`Self::word`] returns.
    pub fn words() -> Vec<String> {
        let of = |status: Status| [status.to_string(), status.unexpected()];
        std::iter::once(NEW.to_string()).chain(Status::ALL.into_iter().flat_map(of)).collect()
    }
}

impl Regression {
    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut regression: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        regression.case.check().map_err(|error| error.to_string())?;
        (_, regression.case) = accept(regression.case)?;
        let told = |what: &str, given: bool| {
            let status = regression.status;
            if given { Ok(()) } else { Err(format!("a regression that is {status} must say {what}")) }
        };
        if let Some(upstream) = regression.upstream.as_deref().filter(|upstream| !is_link(upstream)) {
            return Err(format!(
                "`{upstream}` is not a link; `upstream` is like https://github.com/OWNER/NAME/issues/1"
            ));
        }
        match regression.status {
            Status::Open => {}
            Status::Filed => told("where, in `upstream`", regression.upstream.is_some())?,
            Status::Fixed => told("since when, in `fixed_in`", regression.fixed_in.is_some())?,
            Status::ByDesign | Status::Flaky | Status::Wontfix => {
                told("why, in `reason`", regression.reason.is_some())?;
            }
        }
        if regression.fails.is_empty() && regression.signature.is_some() {
            return Err("a regression with a `signature` must say where it `fails`".to_string());
        }
        Ok(regression)
    }

    /// The text form.
    pub fn to_text(&self) -> String {
        toml::to_string(self).expect("a regression has no map keys that TOML cannot write")
    }

    /// `finding` as an open regression. Its title is the signature, until somebody writes a sentence.
    pub fn of(finding: &Finding) -> Self {
        Self {
            title: finding.signature.to_string(),
            status: Status::Open,
            upstream: None,
            fixed_in: None,
            reason: None,
            provenance: format!("snuffer hunt, seed {}, case {}", finding.origin.seed, finding.origin.index),
            fails: Condition::on(&finding.devices(), finding.signature.oracle),
            signature: Some(finding.signature.clone()),
            case: finding.case.clone(),
        }
    }

    /// True if `device` does not show it reliably, because a GPU neither checks each access nor counts what a call costs.
    pub fn is_beyond(&self, device: Device) -> bool {
        let is_beyond = |signature: &Signature| signature.only_checkers_tell() || signature.oracle == OracleName::Cost;
        Backend::Gpu.has(device) && self.signature.as_ref().is_some_and(is_beyond)
    }

    /// What it is expected to do on `platform`.
    pub fn expected(&self, place: &Platform) -> Expected {
        let is_fixed = self.fixed_in.as_ref().is_some_and(|release| place.candle >= *release);
        let fails = || !is_fixed && self.fails.iter().any(|condition| condition.holds(place));
        match () {
            () if self.status == Status::Flaky => Expected::Either,
            () if !fails() => Expected::Passes,
            () if self.is_beyond(place.device) => Expected::Either,
            () => Expected::Fails,
        }
    }
}

/// The triage state of `finding` given the `known` regressions.
pub fn triage_state<'a>(finding: &Finding, known: &'a [(String, Regression)]) -> TriageState<'a> {
    let same = |(_, one): &&(String, Regression)| one.signature.as_ref() == Some(&finding.signature);
    // One that needs less explains it, too.
    let of_one_kind = |first: &Observation| {
        let is_cpu = first.device == Device::Cpu;
        finding.observations.iter().all(|seen| (seen.device == Device::Cpu) == is_cpu).then_some(first.device)
    };
    let only_on = finding.observations.first().and_then(of_one_kind);
    let place = finding.platform();
    let passes = |one: &Regression| one.expected(&place) == Expected::Passes;
    let covers = |(_, one): &&(String, Regression)| {
        let seen = |own: &Signature| only_on.map_or_else(|| own.clone(), |device| own.seen_only_on(device));
        let is_covered = one.signature.as_ref().is_some_and(|own| seen(own).covers(&finding.signature));
        // A failure elsewhere, which was never fixed, says nothing about this one.
        is_covered && (one.fixed_in.is_some() || !passes(one))
    };
    match known.iter().find(same).or_else(|| known.iter().find(covers)) {
        None => TriageState::New,
        Some((_, one)) if passes(one) => TriageState::Unexpected(one),
        Some((_, one)) => TriageState::Known(one),
    }
}

/// Whether a text is the address of a page.
pub fn is_link(text: &str) -> bool {
    let rest = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    host.contains('.') && !host.starts_with('.') && !text.contains(char::is_whitespace)
}
