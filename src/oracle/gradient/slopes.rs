//! Compares gradients with slopes of the call by finite differences, for ops that have no reference.

use crate::oracle::{Evidence, Kind, OracleName, Site, Verdict, Violation, needs, violation};
use crate::outcome::{Observation, Returned, Slope, Store};
use crate::tensor::{DType, Tensor};

/// Between larger numbers a backward pass may lose more than any slack covers.
const MODERATE: f64 = 1024.0;

/// The verdict on the gradients in `store`.
pub fn judge(evidence: &Evidence, seen: &Observation, returned: &Returned, store: &Store) -> Verdict {
    let slopes = &evidence.observations[0].slopes;
    if slopes.is_empty() || evidence.any_value(|value| !(value.abs() <= MODERATE)) {
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
        if let Some(detail) = slopes.get(name).and_then(|slopes| first_difference(name, gradient, slopes, result)) {
            let site = Site::Needs(needs::of_value(evidence, seen, false, Some(name)));
            violations.push(violation(OracleName::Gradient, Kind::WrongValue, site, seen, detail));
        }
    }
    Verdict::of(violations, Verdict::Pass)
}

/// The first element whose gradient is off by more than roundings and the differences explain. `result` is the largest output: what is
/// left of a sum of such terms may be off by roundings of the terms.
fn first_difference(name: &str, gradient: &Tensor, slopes: &[Slope], result: f64) -> Option<String> {
    let gradients = gradient.floats();
    let largest = slopes.iter().fold(0.0, |most: f64, slope| most.max(slope.value.abs()));
    let (of_slopes, of_result) = slack(gradient.dtype);
    let bound = |slope: &Slope| slope.error + of_slopes * largest + of_result * (1.0 + result);
    let is_off = |slope: &&Slope| {
        gradients.get(slope.element).is_some_and(|gradient| !((gradient - slope.value).abs() <= bound(slope)))
    };
    let slope = slopes.iter().find(is_off)?;
    let (Slope { element, value, .. }, got, within) = (slope, gradients[slope.element], bound(slope));
    Some(format!(
        "element {element} of {name}: expected {value:?} ± {within:.1e} by finite differences in f64, got {got:?}"
    ))
}

/// How far off a gradient of this dtype may be, as a share of the largest slope and as one of the result.
fn slack(dtype: DType) -> (f64, f64) {
    match dtype {
        DType::F64 => (1e-5, 1e-9),
        DType::F32 => (0.01, 1e-4),
        _ => (0.125, 0.02),
    }
}
