//! What a wrong value needs: what the case, its devices and the size of the error show.

use super::{MANY, Need, Needs};
use crate::case::weight;
use crate::oracle::Evidence;
use crate::oracle::derivative::derivative;
use crate::outcome::{Gradients, Observation, Outcome};
use crate::tensor::{DType, Tensor};

/// What a gradient of `input` needs whose elements that are equal do not share what there is to share.
pub fn of_ties(evidence: &Evidence, seen: &Observation, only_in_a_view: bool, input: &str) -> Needs {
    let mut needs = of_value(evidence, seen, only_in_a_view, Some(input));
    needs.all.insert(Need::Ties);
    needs.all.remove(&Need::Rounding);
    needs
}

/// What a wrong value needs on the device of `seen`, of the gradient of `input` or of an output.
pub fn of_value(evidence: &Evidence, seen: &Observation, only_in_a_view: bool, input: Option<&str>) -> Needs {
    let case = evidence.case;
    let any = |is: fn(&Tensor) -> bool| case.inputs.values().any(is);
    let error = match input {
        None => error_of_outputs(evidence, seen),
        Some(input) => error_of_gradient(evidence, seen, input),
    };
    let needs = [
        (Need::View, only_in_a_view),
        (Need::ReducedPrecision, any(|tensor| tensor.dtype.is_reduced_precision())),
        (Need::Double, any(|tensor| tensor.dtype == DType::F64)),
        (Need::Integers, evidence.op.dtype(case).is_some_and(|dtype| !dtype.is_float())),
        (Need::NonFinite, evidence.any_value(|value| !value.is_finite())),
        (Need::Many, any(|tensor| tensor.elements().is_none_or(|count| count > MANY))),
        (Need::Rows, !only_in_a_view && any(|tensor| tensor.shape.len() > 1 && tensor.shape[0] > 1)),
    ];
    let needs = needs.into_iter().filter(|(_, is_so)| *is_so).map(|(need, _)| need);
    Needs { gradient_of: input.map(ToString::to_string), all: needs.chain(error).collect() }
}

/// How far off an output is; `None` if an element is grossly wrong.
fn error_of_outputs(evidence: &Evidence, seen: &Observation) -> Option<Need> {
    let Outcome::Returned(returned) = &seen.outcome else { return None };
    let mut worst = Need::Rounding;
    let expected = evidence.expected()?.iter().zip(evidence.expectations(returned));
    for ((reference, elements), got) in expected.zip(&returned.outputs) {
        let (peaks, values): (Vec<f64>, _) = (reference.iter().map(|want| want.peak).collect(), got.floats());
        for one in elements.iter().filter(|one| !one.kept) {
            let (peak, value) = (peaks[one.position], values[one.position]);
            worst = worst.max(error(one.value, value, got.dtype, peak, one.within)?);
        }
    }
    Some(worst)
}

/// How far off the gradient of `input` is, in all its elements together; `None` if grossly.
fn error_of_gradient(evidence: &Evidence, seen: &Observation, input: &str) -> Option<Need> {
    let Outcome::Returned(returned) = &seen.outcome else { return None };
    let Gradients::Returned(store) = &returned.backward else { return None };
    let grad = store.gradients.get(input)?;
    let weights: Vec<f64> = (0..grad.elements()?).map(weight).collect();
    let tensor = &evidence.case.inputs[input];
    if tensor.stored() != Some(weights.len()) {
        return None;
    }
    let parts: Vec<f64> = grad.floats().iter().zip(&weights).map(|(grad, weight)| grad * weight).collect();
    let want = derivative(evidence, input, tensor, &weights);
    let spread = parts.iter().map(|part| part.abs()).sum::<f64>().max(want.slope.abs());
    error(want.slope, parts.iter().sum(), grad.dtype, spread, want.slope_error)
}

/// How far `got` is from `want`, which comes from numbers up to `size` and may be off by `within`. `None` if grossly: by more than a
/// thousandth, by more than half of the digits of those numbers, and far beyond the bound.
fn error(want: f64, got: f64, dtype: DType, size: f64, within: f64) -> Option<Need> {
    const SHARE: f64 = 1e-3;
    const BEYOND: f64 = 4.0;
    if !want.is_finite() {
        return Some(Need::Finite);
    }
    if !got.is_finite() {
        return Some(Need::NotFinite);
    }
    let rounding = (dtype.unit_roundoff().sqrt() * size).max(SHARE * want.abs()).max(BEYOND * within);
    (dtype.is_float() && (got - want).abs() <= rounding).then_some(Need::Rounding)
}
