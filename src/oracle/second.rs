//! Compares second derivatives with central differences of the reference's first derivatives.
//!
//! candle keeps the graph of a backward pass only under `CANDLE_GRAD_DO_NOT_DETACH` (candle-core/src/backprop.rs:19-28),
//! which exists for this purpose. Workers set it. A refusal is no violation, but a returned result must be right. Error
//! analysis does not carry over to differences, so the tolerance is simply a hundredth: enough to notice a missing term.

use super::derivative::{expand, weighted_sum};
use super::reference::within;
use super::{Evidence, Kind, OracleName, Site, Verdict, violation};
use crate::case::weight;
use crate::number::Num;
use crate::ops::ReferenceInputs;
use crate::outcome::{Gradients, Observation, Outcome};
use crate::tensor::{DType, Tensor};

/// The step to each side, along a direction of size about 1.
const STEP: f64 = 1e-4;

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    let Outcome::Returned(returned) = &seen.outcome else { return Verdict::Skip("nothing returned") };
    let Gradients::Returned(store) = &returned.backward else { return Verdict::Skip("no gradients") };
    let Some(first) = store.gradients.keys().next().filter(|_| !store.second.is_empty()) else {
        return Verdict::Skip("no second derivative asked for, or candle has none");
    };
    let wide = |tensor: &Tensor| !tensor.dtype.is_float() || matches!(tensor.dtype, DType::F32 | DType::F64);
    if evidence.expected().is_none() || !evidence.case.inputs.values().all(wide) {
        return Verdict::Skip("no reference in this precision");
    }
    if evidence.any_value(|value| !value.is_finite() || value.abs() > 1e3) {
        return Verdict::Skip("a difference of large values");
    }
    let (mut violations, mut otherwise) = (Vec::new(), Verdict::Skip("at a kink"));
    for (name, got) in &store.second {
        match check(evidence, first, name, got) {
            None => {}
            Some(Ok(())) => otherwise = Verdict::Pass,
            Some(Err(detail)) => {
                let site = Site::SecondDerivative { of: first.clone(), by: name.clone() };
                violations.push(violation(OracleName::SecondDerivative, Kind::WrongValue, site, seen, detail));
            }
        }
    }
    Verdict::of(violations, otherwise)
}

/// Compares the second derivative by `name` along one direction; `None` if it has no second derivative there.
fn check(evidence: &Evidence, first: &str, name: &str, got: &Tensor) -> Option<Result<(), String>> {
    let input = &evidence.case.inputs[name];
    let direction: Vec<f64> = (0..got.elements()?).map(|element| weight(element + 3)).collect();
    if Some(direction.len()) != input.stored() {
        return None;
    }
    let [below, here, above] = [-STEP, 0.0, STEP].map(|step| slope(evidence, first, name, &direction, step));
    if [below, here, above]
        .iter()
        .any(|num| num.kink || !num.value.is_finite() || !num.slope.is_finite() || num.peak > 1e6)
    {
        return None;
    }
    let (before, after) = ((here.slope - below.slope) / STEP, (above.slope - here.slope) / STEP);
    let want = f64::midpoint(before, after);
    let products: Vec<f64> = got.floats().iter().zip(&direction).map(|(got, share)| got * share).collect();
    let (value, spread): (f64, f64) = (products.iter().sum(), products.iter().map(|product| product.abs()).sum());
    let size = spread.max(want.abs()).max(here.slope.abs());
    // A slope that changes as much within half the step jumps.
    let [near, far] = [-0.5, 0.5].map(|half| slope(evidence, first, name, &direction, half * STEP).slope);
    let (inner, outer) = (far - near, above.slope - below.slope);
    if (inner - outer / 2.0).abs() > 0.25 * outer.abs() {
        return None;
    }
    // Rounding hides a small number, and no NaN.
    if !value.is_finite() {
        return Some(Err(format!("along weights of {name}: expected {want:?}, got {value:?}")));
    }
    // No second derivative exists if the two sides differ, and none can be measured if rounding hides even the first.
    if (before - after).abs() > 0.05 * (size + 1.0) || here.slope_error > 1e-3 * size {
        return None;
    }
    let bound = 1e-2 * size + 1e-3 + (before - after).abs();
    let detail = format!("along weights of {name}: expected {}, got {value:?}", within(want, bound));
    Some(if (value - want).abs() <= bound { Ok(()) } else { Err(detail) })
}

/// The slope of the weighted sum of outputs along weights of `first`, with `name` moved by `step` along `direction`.
fn slope(evidence: &Evidence, first: &str, name: &str, direction: &[f64], step: f64) -> Num {
    let weights: Vec<f64> = (0..evidence.case.inputs[first].stored().unwrap_or(0)).map(weight).collect();
    let along = expand(&evidence.case.inputs[first], &weights);
    let moved: Vec<f64> = direction.iter().map(|share| share * step).collect();
    let moved = expand(&evidence.case.inputs[name], &moved);
    let inputs = ReferenceInputs {
        direction: Some((first, &along)),
        shift: Some((name, &moved)),
        ..ReferenceInputs::new(evidence.case)
    };
    weighted_sum(evidence, &inputs)
}
