//! Second derivatives against central differences of the reference's first ones.
//!
//! candle keeps the graph of a backward pass only under `CANDLE_GRAD_DO_NOT_DETACH` (candle-core/src/backprop.rs:19-28),
//! which exists for this, and workers run under it. What it refuses is no violation; what it returns must be right. No
//! error analysis carries over to differences, so that the tolerance is a plain hundredth: terms that are missing show.

use super::gradient::{expand, weighted_sum};
use super::{Evidence, Kind, OracleName, Verdict, fail};
use crate::case::weight;
use crate::number::Num;
use crate::ops::ReferenceInputs;
use crate::outcome::{Gradients, Observation, Outcome};
use crate::tensor::{DType, Tensor};

/// How far the input is moved to each side, in a direction of size about 1.
const STEP: f64 = 1e-4;

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    let Outcome::Returned(returned) = &seen.outcome else { return Verdict::Skip("nothing returned") };
    let Gradients::Returned(store) = &returned.backward else { return Verdict::Skip("no gradients") };
    let Some(first) = store.gradients.keys().next().filter(|_| !store.second.is_empty()) else {
        return Verdict::Skip("no second derivative asked for, or none in candle");
    };
    let wide = |tensor: &Tensor| !tensor.dtype.is_float() || matches!(tensor.dtype, DType::F32 | DType::F64);
    if evidence.expected().is_none() || !evidence.case.inputs.values().all(wide) {
        return Verdict::Skip("no reference in this precision");
    }
    if evidence.any_value(|value| !value.is_finite() || value.abs() > 1e3) {
        return Verdict::Skip("differences of large values");
    }
    let mut verdict = Verdict::Skip("at a kink");
    for (name, got) in &store.second {
        match check(evidence, first, name, got) {
            None => {}
            Some(Ok(())) => verdict = Verdict::Pass,
            Some(Err(detail)) => {
                return fail(
                    OracleName::SecondDerivative,
                    Kind::WrongValue,
                    format!("{first} by {name}"),
                    seen,
                    detail,
                );
            }
        }
    }
    verdict
}

/// Compares the second derivative by `name` in one direction; `None` where there is none.
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
    // Where the two sides differ there is no second derivative, and where even the first one is lost in rounding nothing
    // can be said of it.
    if (before - after).abs() > 0.05 * (size + 1.0) || here.slope_error > 1e-3 * size {
        return None;
    }
    let bound = 1e-2 * size + 1e-3 + (before - after).abs();
    let detail = format!("along weights of {name}: expected {want:?} ± {bound:.1e}, got {value:?}");
    Some(if (value - want).abs() <= bound { Ok(()) } else { Err(detail) })
}

/// The slope of the weighted sum of outputs along weights of `first`, with `name` moved by `step` along `direction`.
fn slope(evidence: &Evidence, first: &str, name: &str, direction: &[f64], step: f64) -> Num {
    let along: Vec<f64> = (0..evidence.case.inputs[first].stored().unwrap_or(0)).map(weight).collect();
    let along = expand(&evidence.case.inputs[first], &along);
    let moved: Vec<f64> = direction.iter().map(|share| share * step).collect();
    let moved = expand(&evidence.case.inputs[name], &moved);
    let given = ReferenceInputs {
        direction: Some((first, &along)),
        shift: Some((name, &moved)),
        ..ReferenceInputs::new(evidence.case)
    };
    weighted_sum(evidence, &given)
}
