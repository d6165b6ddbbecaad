//! One lookup for all that is known of candle's failures: who explains a failure?

use std::collections::BTreeMap;

use super::{RootCause, Sighting, Upstream, cause_of};
use crate::oracle::{OracleName, Signature};
use crate::store::regression::{Regression, Status, TriageState, triage_state};
use crate::store::{Cause, Finding};

/// The status of a finding without a regression that something explains.
const KNOWN: &str = "known";

/// The failures that are known: each regression keeps one, and each cause explains many.
#[derive(Debug, Default)]
pub struct KnownFailures {
    /// The regressions by name.
    pub regressions: Vec<(String, Regression)>,
    /// The causes, the worst first.
    pub causes: Vec<RootCause>,
}

/// Who explains a failure.
#[derive(Debug, Clone)]
pub struct Explanation<'a> {
    /// The regression of the same failure, and whether it expects it there.
    pub state: TriageState<'a>,
    /// The regression that expects it, or else one of the same kind in the same function.
    pub regression: Option<&'a Regression>,
    /// The root cause.
    pub cause: Option<&'a RootCause>,
    /// The likely cause that the failure itself shows.
    pub likely: Option<Cause>,
}

impl Explanation<'_> {
    /// The cause in words, which findings of one cause share: the title of the root cause, or else what the finding itself shows.
    pub fn shared(&self) -> Option<String> {
        let title = self.cause.map(|cause| cause.title.clone());
        title.or_else(|| self.likely.as_ref().map(ToString::to_string))
    }

    /// True if the root cause or a regression explains it, and no regression expects the case to pass there. All other failures are new.
    pub fn is_known(&self) -> bool {
        match self.state {
            TriageState::New => self.cause.is_some() || self.regression.is_some(),
            TriageState::Known(_) => true,
            TriageState::Unexpected(_) => false,
        }
    }

    /// The status in a word or two: that of its regression, or else `known` or `new`.
    pub fn status(&self) -> String {
        match self.state {
            TriageState::New if self.is_known() => KNOWN.to_string(),
            state => state.word(),
        }
    }

    /// All that [`Self::status`] returns.
    pub fn words() -> Vec<String> {
        std::iter::once(KNOWN.to_string()).chain(TriageState::words()).collect()
    }

    /// The first link about it: that of the root cause, or else of the regression.
    pub fn link(&self) -> Option<&str> {
        let of_cause = self.cause.and_then(|cause| cause.upstream.first());
        of_cause.map(|link| link.url.as_str()).or_else(|| self.regression?.upstream.as_deref())
    }
}

impl KnownFailures {
    /// These regressions, and the causes of the nearest folder or else of this build.
    pub fn new(regressions: Vec<(String, Regression)>) -> Result<Self, String> {
        Ok(Self { regressions, causes: RootCause::all()? })
    }

    /// Who explains `finding`.
    pub fn explain(&self, finding: &Finding) -> Explanation<'_> {
        let state = triage_state(finding, &self.regressions);
        let regression = match state {
            TriageState::Known(regression) => Some(regression),
            TriageState::Unexpected(_) => None,
            TriageState::New => {
                self.regressions.iter().map(|(_, one)| one).find(|one| is_in_one_function(finding, one))
            }
        };
        let (cause, likely) = (self.cause_of(&Sighting::of(finding)), Cause::of_finding(finding));
        Explanation { state, regression, cause, likely }
    }

    /// The root cause of `failure`.
    pub fn cause_of(&self, failure: &Sighting) -> Option<&RootCause> {
        cause_of(&self.causes, failure)
    }

    /// The regressions of `cause`, each with its name, the one that shows it best first.
    pub fn regressions_of(&self, cause: &RootCause) -> Vec<(&str, &Regression)> {
        let is_its = |failure: Sighting| self.cause_of(&failure).is_some_and(|own| own.name == cause.name);
        let its = self.regressions.iter().filter(|(_, kept)| Sighting::kept(kept).is_some_and(is_its));
        let mut its: Vec<_> = its.map(|(name, kept)| (name.as_str(), kept)).collect();
        // A value that is wrong shows everywhere; a read outside a buffer shows nothing without a checker.
        let needs_checker = |kept: &Regression| {
            let oracle = kept.signature.as_ref().map(|signature| signature.oracle);
            matches!(oracle, Some(OracleName::Fault | OracleName::Checker))
        };
        its.sort_by_key(|(name, kept)| {
            let is_example = cause.example.as_deref() == Some(*name);
            let is_of_gradients = kept.signature.as_ref().is_some_and(|own| own.oracle == OracleName::Gradient);
            let has_other_symptom = is_of_gradients != cause.symptom.is_of_gradients();
            let is_other_call = !cause.names(&kept.case.op);
            (!is_example, needs_checker(kept), has_other_symptom, is_other_call, kept.case.complexity())
        });
        its
    }

    /// Those of `findings` that nothing explains.
    pub fn news(&self, mut findings: Vec<(String, Finding)>) -> Vec<(String, Finding)> {
        findings.retain(|(_, finding)| !self.explain(finding).is_known());
        findings
    }

    /// The failures by the name of their cause; `None` has those that no cause explains.
    pub fn by_cause<'a, T>(
        &'a self,
        failures: impl IntoIterator<Item = (T, Sighting<'a>)>,
    ) -> BTreeMap<Option<&'a str>, Vec<T>> {
        let mut by_cause: BTreeMap<_, Vec<T>> = BTreeMap::new();
        for (failure, sighting) in failures {
            let cause = self.cause_of(&sighting).map(|cause| cause.name.as_str());
            by_cause.entry(cause).or_default().push(failure);
        }
        by_cause
    }

    /// Groups of at least two findings that likely have the same cause, even of different ops, the largest first: the cause in words
    /// and the findings' names.
    pub fn similar<'a>(&self, findings: &'a [(String, Finding)]) -> Vec<(String, Vec<&'a str>)> {
        let mut groups: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (name, finding) in findings {
            if let Some(cause) = self.explain(finding).shared() {
                groups.entry(cause).or_default().push(name);
            }
        }
        let mut groups: Vec<_> = groups.into_iter().filter(|(_, names)| names.len() > 1).collect();
        groups.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
        groups
    }

    /// The issues about `failure`, or else those about a regression that probably has the same cause.
    pub fn upstream(&self, failure: &Sighting) -> Option<Upstream<'_>> {
        let signature = failure.signature;
        let own = self.regressions.iter().map(|(_, one)| one).find(|one| one.signature.as_ref() == Some(signature));
        self.links(failure, own).or_else(|| {
            let alike = |one: &&Regression| {
                one.status != Status::Fixed && one.signature.as_ref().is_some_and(|other| is_alike(signature, other))
            };
            let mut alike = self.regressions.iter().map(|(_, one)| one).filter(alike);
            alike.find_map(|one| {
                let upstream = self.links(&Sighting::kept(one)?, Some(one))?;
                Some(Upstream { same_cause_as: Some(&one.title), ..upstream })
            })
        })
    }

    fn links<'a>(&'a self, failure: &Sighting, regression: Option<&'a Regression>) -> Option<Upstream<'a>> {
        let kept = regression.and_then(|one| one.upstream.as_deref());
        Upstream::of(kept, self.cause_of(failure).map_or(&[], |cause| &cause.upstream))
    }
}

/// True if `finding` fails as `kept` does, in the same function.
fn is_in_one_function(finding: &Finding, kept: &Regression) -> bool {
    let (signature, other) = (&finding.signature, kept.signature.as_ref().filter(|_| kept.status != Status::Fixed));
    let place = Cause::at(&signature.site);
    place.is_some() && other.is_some_and(|other| other.kind == signature.kind && Cause::at(&other.site) == place)
}

/// True if two signatures probably have one cause: the same failure in one function, or of one call in another form, such as
/// `layer.conv1d` and `tensor.conv1d`.
fn is_alike(one: &Signature, other: &Signature) -> bool {
    let call = |signature: &Signature| signature.op.rsplit('.').next().map(ToString::to_string);
    let in_one_function = Cause::at(&one.site).is_some() && Cause::at(&one.site) == Cause::at(&other.site);
    let of_any_op = |signature: &Signature| Signature { op: String::new(), ..signature.clone() };
    let (left, right) = (of_any_op(one), of_any_op(other));
    let same_call = call(one) == call(other) && (left.covers(&right) || right.covers(&left));
    one.kind == other.kind && (in_one_function || same_call)
}
