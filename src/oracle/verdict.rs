//! The verdict on a case: each device is judged, and every violation is kept, apart from those that only follow from another.

use super::{Evidence, Kind, Need, ORACLES, OracleName, Signature, Site, Violation};
use crate::device::Device;
use crate::outcome::Observation;

/// The verdict of one oracle, or of all, on a case.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// No violation.
    Pass,
    /// No violation of what holds on any input; the result itself is not specified, for this reason.
    Partly(&'static str),
    /// No verdict is possible, with the reason.
    Skip(&'static str),
    /// The violations, at least one. Those of the oracle with the most authority come first.
    Fail(Vec<Violation>),
}

impl Verdict {
    /// A failure with these violations, or `otherwise` if there are none.
    pub fn of(violations: Vec<Violation>, otherwise: Self) -> Self {
        if violations.is_empty() { otherwise } else { Self::Fail(violations) }
    }

    /// Every violation, the main one first; none unless the verdict is a failure.
    pub fn violations(&self) -> &[Violation] {
        match self {
            Self::Fail(violations) => violations,
            Self::Pass | Self::Partly(_) | Self::Skip(_) => &[],
        }
    }

    /// The verdict with the violation of this signature first, if it has one: a finding is about that.
    #[must_use]
    pub fn led_by(mut self, signature: &Signature) -> Self {
        if let Self::Fail(violations) = &mut self {
            violations.sort_by_key(|violation| violation.signature(&signature.op) != *signature);
        }
        self
    }

    /// The signature of every violation by a case of `op`.
    pub fn signatures(&self, op: &str) -> Vec<Signature> {
        self.violations().iter().map(|violation| violation.signature(op)).collect()
    }
}

/// The verdict on a case and, beside it, on the same values in contiguous tensors: the violations on all devices, else a pass, as
/// far as the contract of the case goes.
pub fn judge(evidence: &Evidence) -> Verdict {
    let mut verdict = judge_by(evidence, |_| true);
    let mut contiguous = violations_when_contiguous(evidence);
    let is_known = |it: &Violation, verdict: &Verdict| {
        verdict.violations().iter().any(|other| (other.oracle, &other.kind) == (it.oracle, &it.kind))
    };
    contiguous.retain(|it| !is_known(it, &verdict));
    match &mut verdict {
        Verdict::Fail(found) => found.extend(contiguous),
        _ => verdict = Verdict::of(contiguous, verdict),
    }
    verdict
}

/// The verdict on what a case costs, and nothing else.
pub fn judge_costs(evidence: &Evidence) -> Verdict {
    match judge_by(evidence, |oracle| oracle == OracleName::Cost) {
        failed @ Verdict::Fail(_) => failed,
        _ => Verdict::Pass,
    }
}

/// The violations by the same values in contiguous tensors. candle may refuse a view, or get it right, and fail without it.
fn violations_when_contiguous(evidence: &Evidence) -> Vec<Violation> {
    let of_contiguous = |seen: &Observation| Some(Observation::new(seen.device, seen.contiguous.clone()?));
    let observations: Vec<Observation> = evidence.observations.iter().filter_map(of_contiguous).collect();
    if observations.is_empty() {
        return Vec::new();
    }
    let case = evidence.case.contiguous();
    // The others take long, or ask for what a baseline does not have: a second run, the device's reports.
    let judges = [OracleName::Contract, OracleName::Fault, OracleName::Reference];
    let contiguous = Evidence::new(evidence.op, &case, &observations);
    judge_by(&contiguous, |oracle| judges.contains(&oracle)).violations().to_vec()
}

/// The verdict of some of the oracles.
fn judge_by(evidence: &Evidence, judges: impl Fn(OracleName) -> bool) -> Verdict {
    let verdicts: Vec<Vec<Verdict>> =
        evidence.observations.iter().map(|seen| verdicts(evidence, seen, &judges)).collect();
    let mut found: Vec<Violation> = Vec::new();
    for (seen, own) in evidence.observations.iter().zip(&verdicts) {
        found.extend(independent(evidence, seen, own));
    }
    let spoilt: Vec<Device> = found.iter().filter(|it| spoils_comparison(it)).map(|it| it.device).collect();
    let is_spoilt = |it: &Violation| spoilt.iter().any(|at| [it.device, evidence.observations[0].device].contains(at));
    found.retain(|it| it.oracle != OracleName::Agreement || !is_spoilt(it));
    for violation in &mut found {
        violation.site = among_devices(evidence, &verdicts, violation);
    }
    found.sort_by_key(|it| place(it.oracle));
    // The contract knows how much is promised, the reference how much of that it can compare. The others may skip for lack of data.
    let of = |oracle| verdicts.iter().rev().map(move |own| &own[place(oracle)]);
    let less = of(OracleName::Contract).find(|verdict| matches!(verdict, Verdict::Partly(_) | Verdict::Skip(_)));
    let less = less.or_else(|| of(OracleName::Reference).find(|verdict| matches!(verdict, Verdict::Partly(_))));
    Verdict::of(merged(found), less.cloned().unwrap_or(Verdict::Pass))
}

/// The place of an oracle in the order of authority.
pub fn place(name: OracleName) -> usize {
    ORACLES.iter().position(|oracle| oracle.name == name).expect("every oracle is listed")
}

/// The violations on one device, without a comparison of devices.
pub fn judge_on(evidence: &Evidence, seen: &Observation) -> Vec<Violation> {
    independent(evidence, seen, &verdicts(evidence, seen, &|_| true))
}

/// What each oracle that judges says of a device.
fn verdicts(evidence: &Evidence, seen: &Observation, judges: &dyn Fn(OracleName) -> bool) -> Vec<Verdict> {
    let verdict =
        |name| if judges(name) { (ORACLES[place(name)].judge)(evidence, seen) } else { Verdict::Skip("not asked") };
    ORACLES.iter().map(|oracle| verdict(oracle.name)).collect()
}

/// The violations on a device that do not merely follow from one with more authority.
fn independent(evidence: &Evidence, seen: &Observation, verdicts: &[Verdict]) -> Vec<Violation> {
    let mut kept: Vec<Violation> = Vec::new();
    for violation in verdicts.iter().flat_map(Verdict::violations) {
        if !kept.iter().any(|earlier| explains(evidence, seen, earlier, violation)) {
            kept.push(violation.clone());
        }
    }
    // A wrong value shows on any hardware, and says more.
    if kept.iter().any(|it| matches!(it.kind, Kind::WrongValue | Kind::Differs)) {
        kept.retain(|it| it.kind != Kind::Report(device_record::Kind::OutOfView));
    }
    kept
}

/// Whether `later` is a mere consequence of `earlier` on the same device.
fn explains(evidence: &Evidence, seen: &Observation, earlier: &Violation, later: &Violation) -> bool {
    match (earlier.oracle, &earlier.kind, later.oracle) {
        // Nothing is promised of a call that should have been refused, nor after a fault.
        (OracleName::Contract, Kind::NotRefused, _) | (OracleName::Fault, ..) => true,
        // An output of another shape or dtype is not compared by value. Whether there is a gradient is a question of its own.
        (OracleName::Contract, Kind::WrongShape | Kind::WrongDtype, _) => {
            matches!(later.kind, Kind::WrongValue | Kind::Differs)
        }
        // There are no outputs.
        (OracleName::Contract, _, oracle) => oracle != OracleName::Checker,
        (OracleName::Gradient, Kind::WrongValue, OracleName::SecondDerivative) => true,
        (OracleName::Reference, Kind::WrongValue, OracleName::Invariant) => true,
        // Steps follow gradients.
        (OracleName::Gradient, _, OracleName::Training) => true,
        // A value that differs from run to run is wrong in most of them.
        (_, _, OracleName::Determinism) => !is_repeated(evidence, seen, earlier),
        _ => false,
    }
}

/// Whether the second run shows the same violation, to the digit.
fn is_repeated(evidence: &Evidence, seen: &Observation, violation: &Violation) -> bool {
    let Some(again) = &seen.again else { return true };
    let second = Observation { outcome: again.clone(), again: None, ..seen.clone() };
    let judged = (ORACLES[place(violation.oracle)].judge)(evidence, &second);
    violation.oracle != OracleName::Checker && judged.violations().contains(violation)
}

/// Whether a device with this violation cannot be compared with others.
fn spoils_comparison(violation: &Violation) -> bool {
    use OracleName::{Checker, Contract, Fault, Layout};
    [Contract, Fault, Checker, Layout].contains(&violation.oracle)
}

/// The violations with each signature once, on all of its devices.
fn merged(found: Vec<Violation>) -> Vec<Violation> {
    let mut merged: Vec<Violation> = Vec::new();
    for violation in found {
        let parts = |it: &Violation| (it.oracle, it.kind.clone(), it.site.clone());
        match merged.iter_mut().find(|other| parts(other) == parts(&violation)) {
            Some(same) if same.devices().any(|device| device == violation.device) => {}
            Some(same) => same.also_on.push(violation.device),
            None => merged.push(violation),
        }
    }
    merged
}

/// The site of a violation, with the kind of device that it needs: another one returns something right. Roundings differ from
/// device to device anyway.
fn among_devices(evidence: &Evidence, verdicts: &[Vec<Verdict>], violation: &Violation) -> Site {
    let needs = match &violation.site {
        Site::Needs(needs) if !needs.has(Need::Rounding) => needs,
        other => return other.clone(),
    };
    let is_wrong = |other: &Violation| match &other.site {
        Site::Needs(its) => its.gradient_of == needs.gradient_of,
        _ => needs.gradient_of.is_none(),
    };
    let is_right = |verdict: &Verdict| match verdict {
        Verdict::Pass => true,
        Verdict::Partly(_) | Verdict::Skip(_) => false,
        Verdict::Fail(others) => !others.iter().any(is_wrong),
    };
    let on_cpu = |device: Device| device == Device::Cpu;
    let seen = evidence.observations.iter().zip(verdicts);
    let mut others = seen.filter(|(seen, _)| on_cpu(seen.device) != on_cpu(violation.device));
    let mut needs = needs.clone();
    if others.clone().next().is_some() && others.all(|(_, own)| is_right(&own[place(violation.oracle)])) {
        needs = needs.with(if on_cpu(violation.device) { Need::Cpu } else { Need::Gpu });
    }
    Site::Needs(needs)
}
