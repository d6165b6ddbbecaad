//! The options that narrow a list of findings or regressions down. They mean the same for every list.

use std::collections::BTreeSet;
use std::str::FromStr;

use super::{Pattern, UsageError};
use crate::case::nearest;
use crate::causes::KnownFailures;
use crate::device::Selection;
use crate::oracle::{ORACLES, Rank, Signature};
use crate::store::Finding;
use crate::store::regression::{Regression, Status};

/// The findings or regressions to act on.
#[derive(Debug, Clone, clap::Args)]
pub struct Chosen {
    /// Only those whose name contains or matches this, such as `tensor.*--panic*`.
    pattern: Option<Pattern>,
    /// Only those of ops whose name contains or matches this; repeatable.
    #[arg(long, value_delimiter = ',')]
    ops: Vec<Pattern>,
    /// Only those of this rank, oracle or kind, such as `memory`, `gradient` or `wrong value`; repeatable.
    #[arg(long, value_delimiter = ',')]
    kind: Vec<String>,
    /// Only those with this status: `new`, `known`, `open`, `filed`, `fixed`, `by-design`, `flaky` or `wontfix`; repeatable.
    #[arg(long, value_delimiter = ',')]
    status: Vec<Standing>,
}

/// The findings to act on.
#[derive(Debug, Clone, clap::Args)]
pub struct ChosenFindings {
    #[command(flatten)]
    chosen: Chosen,
    /// Only those that fail on this device, such as `sim:0`, or on a GPU, `cuda`; repeatable.
    #[arg(long = "device", value_delimiter = ',')]
    devices: Vec<Selection>,
}

/// The status of a finding: that of its regression, if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    New,
    Known,
    Kept(Status),
}

impl FromStr for Standing {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "new" => Ok(Self::New),
            "known" => Ok(Self::Known),
            other => other.parse().map(Self::Kept),
        }
    }
}

impl ChosenFindings {
    /// Those of `findings` that the options leave.
    pub fn of(
        &self,
        findings: Vec<(String, Finding)>,
        known: &KnownFailures,
    ) -> Result<Vec<(String, Finding)>, UsageError> {
        self.chosen.check_kinds(findings.iter().map(|(_, finding)| &finding.signature))?;
        let mut left = self.chosen.by_name(findings, |(name, _)| name, |(_, finding)| &finding.signature.op);
        left.retain(|(_, finding)| {
            let explanation = known.explain(finding);
            let standing = match explanation.state.regression() {
                Some(regression) => Standing::Kept(regression.status),
                None if explanation.is_known() => Standing::Known,
                None => Standing::New,
            };
            let is_named = |device| self.devices.iter().any(|selection| selection.contains(device));
            let is_there = || finding.devices().into_iter().any(is_named);
            self.chosen.has(standing)
                && self.chosen.is_of_kind(Some(&finding.signature))
                && (self.devices.is_empty() || is_there())
        });
        Ok(left)
    }
}

impl Chosen {
    /// Those of `regressions` that the options leave.
    pub fn of(&self, regressions: Vec<(String, Regression)>) -> Result<Vec<(String, Regression)>, UsageError> {
        self.check_kinds(regressions.iter().filter_map(|(_, kept)| kept.signature.as_ref()))?;
        let ops: BTreeSet<String> = regressions.iter().map(|(_, kept)| kept.case.op.clone()).collect();
        let mut left = self.by_name(regressions, |(name, _)| name, |(_, kept)| &kept.case.op);
        left.retain(|(_, kept)| self.has(Standing::Kept(kept.status)) && self.is_of_kind(kept.signature.as_ref()));
        match (&self.pattern, ops) {
            (Some(pattern), ops) if left.is_empty() && !ops.is_empty() => Err(nothing(pattern, &ops)),
            _ => Ok(left),
        }
    }

    fn by_name<T>(&self, mut all: Vec<T>, name: impl Fn(&T) -> &str, op: impl Fn(&T) -> &str) -> Vec<T> {
        if let Some(pattern) = &self.pattern {
            all = pattern.choose(all, &name);
        }
        if !self.ops.is_empty() {
            let ops: BTreeSet<String> = all.iter().map(|one| op(one).to_string()).collect();
            let ops: Vec<String> = ops.into_iter().collect();
            let meant: BTreeSet<String> =
                self.ops.iter().flat_map(|pattern| pattern.choose(ops.clone(), |op| op)).collect();
            all.retain(|one| meant.contains(op(one)));
        }
        all
    }

    fn has(&self, standing: Standing) -> bool {
        self.status.is_empty() || self.status.contains(&standing)
    }

    fn is_of_kind(&self, signature: Option<&Signature>) -> bool {
        let has = |wanted: &String| signature.is_some_and(|signature| words(signature).contains(&plain(wanted)));
        self.kind.is_empty() || self.kind.iter().any(has)
    }

    /// A word that is neither a rank nor an oracle nor the kind of any finding is a slip of the pen.
    fn check_kinds<'a>(&self, signatures: impl Iterator<Item = &'a Signature>) -> Result<(), UsageError> {
        if self.kind.is_empty() {
            return Ok(());
        }
        let always = Rank::ALL.map(Rank::name).into_iter().chain(ORACLES.iter().map(|oracle| oracle.name.name()));
        let there: BTreeSet<String> = always.map(plain).chain(signatures.flat_map(words)).collect();
        match self.kind.iter().find(|wanted| !there.contains(&plain(wanted))) {
            Some(wanted) => {
                let there: Vec<&str> = there.iter().map(String::as_str).collect();
                Err(UsageError(format!("no finding has the kind `{wanted}`; known kinds: {}", there.join(", "))))
            }
            None => Ok(()),
        }
    }
}

/// The error if `pattern` leaves nothing, with the op that it may mean.
fn nothing(pattern: &Pattern, ops: &BTreeSet<String>) -> UsageError {
    let near = nearest(&pattern.to_string(), ops.iter().map(String::as_str));
    let hint = near.map_or_else(String::new, |op| format!("; did you mean `{op}`?"));
    UsageError(format!("nothing matches `{pattern}`{hint}"))
}

/// The words by which a signature can be chosen.
fn words(signature: &Signature) -> [String; 3] {
    [signature.rank().name(), signature.oracle.name(), signature.kind.name()].map(plain)
}

/// A kind as people may write it: `Wrong-Value` is `wrong value`.
fn plain(kind: impl AsRef<str>) -> String {
    kind.as_ref().to_lowercase().replace(['-', '_'], " ")
}
