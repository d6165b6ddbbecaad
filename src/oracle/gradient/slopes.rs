//! Compares gradients with slopes of the call by finite differences, for ops that have no reference.

use crate::oracle::slack::Slack;
use crate::oracle::{Evidence, Kind, OracleName, Site, Verdict, Violation, needs, violation};
use crate::outcome::{Observation, Returned, Slope, Store};
use crate::tensor::Tensor;

/// The verdict on the gradients in `store`.
pub fn judge(evidence: &Evidence, seen: &Observation, returned: &Returned, store: &Store) -> Verdict {
    let slopes = &evidence.observations[0].slopes;
    if slopes.is_empty() {
        return Verdict::Skip("no reference");
    }
    let outputs = returned.outputs.iter().flat_map(Tensor::floats);
    let result = outputs.filter(|value| value.is_finite()).fold(0.0, |most: f64, value| most.max(value.abs()));
    let mut violations: Vec<Violation> = Vec::new();
    let matters = |slope: &&Slope| slope.value.abs() > 1e-6 + 4.0 * slope.error;
    for name in &store.missing {
        if let Some(slope) = slopes.get(name).and_then(|slopes| slopes.iter().find(matters)) {
            let Slope { element, value, .. } = slope;
            let detail = format!(
                "expected a gradient of {name}, as the result changes by {value:?} per unit of element {element}; the store has none"
            );
            violations.push(violation(OracleName::Gradient, Kind::MissingGradient, Site::Call, seen, detail));
        }
    }
    for (name, gradient) in &store.gradients {
        let Some(slack) = Slack::of(evidence.case, gradient.dtype) else {
            return Verdict::Skip("numbers of which roundings may leave nothing");
        };
        let difference = |slopes: &Vec<Slope>| first_difference(name, gradient, slopes, result, &slack);
        if let Some(detail) = slopes.get(name).and_then(difference) {
            let site = Site::Needs(needs::of_value(evidence, seen, false, Some(name)));
            violations.push(violation(OracleName::Gradient, Kind::WrongValue, site, seen, detail));
        }
    }
    Verdict::of(violations, Verdict::Pass)
}

/// The first element whose gradient is off by more than roundings and the differences explain. `result` is the largest output: what is
/// left of a sum of such terms may be off by roundings of the terms.
fn first_difference(name: &str, gradient: &Tensor, slopes: &[Slope], result: f64, slack: &Slack) -> Option<String> {
    let gradients = gradient.floats();
    let largest = slopes.iter().fold(0.0, |most: f64, slope| most.max(slope.value.abs()));
    let bound = |slope: &Slope| slope.error + slack.beside(largest + result / 100.0);
    let is_off = |slope: &&Slope| {
        let off = gradients.get(slope.element).map_or(0.0, |gradient| (gradient - slope.value).abs());
        off.is_nan() || off > bound(slope)
    };
    let slope = slopes.iter().find(is_off)?;
    let (Slope { element, value, .. }, got, within) = (slope, gradients[slope.element], bound(slope));
    Some(format!(
        "element {element} of {name}: expected {value:?} ± {within:.1e} by finite differences in f64, got {got:?}"
    ))
}
