//! Second derivatives against central differences of the reference's first ones.
//!
//! candle keeps the graph of a backward pass only under `CANDLE_GRAD_DO_NOT_DETACH` (candle-core/src/backprop.rs:19-28),
//! which exists for this, and workers run under it. What it refuses is no violation; what it returns must be right.

use super::gradient::{expand, weighted_sum};
use super::{Evidence, Observation, Verdict, fail};
use crate::case::weight;
use crate::number::Num;
use crate::ops::Given;
use crate::outcome::{Gradients, Outcome};
use crate::tensor::{DType, Tensor};

/// Half the distance of the two points, in a direction of size about 1.
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
                return fail("second derivative", "wrong value", format!("{first} by {name}"), seen, detail);
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
    let slopes = [STEP, -STEP, STEP / 2.0, -STEP / 2.0].map(|step| slope(evidence, first, name, &direction, step));
    if slopes.iter().any(|num| num.kink || !num.slope.is_finite() || num.peak > 1e6) {
        return None;
    }
    let coarse = (slopes[0].slope - slopes[1].slope) / (2.0 * STEP);
    let want = (slopes[2].slope - slopes[3].slope) / STEP;
    let products: Vec<f64> = got.floats().iter().zip(&direction).map(|(got, share)| got * share).collect();
    let (value, spread): (f64, f64) = (products.iter().sum(), products.iter().map(|product| product.abs()).sum());
    // Rounding in the working dtype, generously, and what the differences themselves are off by.
    let size = spread.max(want.abs()).max(slopes[0].slope.abs());
    let bound = size * (2048.0 * slopes[0].unit + 1e-6) + 16.0 * (want - coarse).abs() + 1e-9;
    // Where even the first derivative is lost in rounding, or the differences do not settle, nothing can be said.
    if slopes[0].slope_error > 1e-3 * size || bound > 0.05 * (want.abs() + spread + 1.0) {
        return None;
    }
    let detail = format!("along weights of {name}: expected {want:?} ± {bound:.1e}, got {value:?}");
    Some(if (value - want).abs() <= bound { Ok(()) } else { Err(detail) })
}

/// The slope of the weighted sum of outputs along weights of `first`, with `name` moved by `step` along `direction`.
fn slope(evidence: &Evidence, first: &str, name: &str, direction: &[f64], step: f64) -> Num {
    let along: Vec<f64> = (0..evidence.case.inputs[first].stored().unwrap_or(0)).map(weight).collect();
    let along = expand(&evidence.case.inputs[first], &along);
    let moved: Vec<f64> = direction.iter().map(|share| share * step).collect();
    let moved = expand(&evidence.case.inputs[name], &moved);
    let given = Given { direction: Some((first, &along)), shift: Some((name, &moved)), ..Given::new(evidence.case) };
    weighted_sum(evidence, &given)
}
