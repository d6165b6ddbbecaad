//! Compares gradients with the derivative of the `f64` reference, and detects missing gradients.
//!
//! The derivative comes from forward-mode differentiation of the reference, one direction at a time. A direction that
//! moves all elements of an input checks them all at once. If it disagrees, or hits a kink, elements are checked one by
//! one.

use super::compare::{Agreement, compare_slope};
use super::{Evidence, Kind, OracleName, Verdict, fail, value_site};
use crate::case::{Backward, weight};
use crate::number::Num;
use crate::ops::{Contract, ReferenceInputs};
use crate::outcome::{Gradients, Observation, Outcome, Refusal};
use crate::tensor::Tensor;

/// The backward pass evaluates other formulas than forward-mode differentiation, so its bound is this much wider.
pub(super) const FACTOR: f64 = 4.0;
/// How many elements of an input to check one by one.
const MAX_ELEMENTS: usize = 8;

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    let Outcome::Returned(returned) = &seen.outcome else { return Verdict::Skip("nothing returned") };
    let store = match &returned.backward {
        Gradients::NotAsked => return Verdict::Skip("no gradient asked for"),
        Gradients::Rejected(refusal) => return judge_refusal(evidence, seen, refusal),
        Gradients::Returned(store) => store,
    };
    if evidence.expected().is_none() {
        return Verdict::Skip("no reference");
    }
    // The first output of a step may be independent of some of the step's inputs.
    let matters = |name: &&String| {
        let stored = evidence.case.inputs[*name].stored().unwrap_or(0);
        stored > 0 && (evidence.case.steps.is_empty() || depends(evidence, name, stored))
    };
    if let Some(name) = store.missing.iter().find(matters) {
        let detail = format!("expected a gradient of {name}; the store has none");
        return fail(OracleName::Gradient, Kind::MissingGradient, String::new(), seen, detail);
    }
    if evidence.any_value(|value| !value.is_finite()) {
        return Verdict::Skip("derivatives at infinity");
    }
    let mut verdict = Verdict::Skip("every derivative overflows or is at a kink");
    for (name, grad) in &store.gradients {
        match check(evidence, name, grad) {
            Checked::Unknown => {}
            Checked::Right => verdict = Verdict::Pass,
            Checked::Wrong(detail) => {
                let site = value_site(evidence, contiguous_is_right(evidence, name, seen), Some(name));
                return fail(OracleName::Gradient, Kind::WrongValue, site, seen, detail);
            }
        }
    }
    verdict
}

/// The verdict on an `Err` from the backward pass.
fn judge_refusal(evidence: &Evidence, seen: &Observation, refusal: &Refusal) -> Verdict {
    let may_refuse = matches!(evidence.contract, Contract::Accepts { refusal: Some(_), .. });
    if may_refuse || !evidence.supported(seen.device) {
        return Verdict::Skip("a refusal is allowed");
    }
    if evidence.expected().is_none() {
        return Verdict::Skip("no reference");
    }
    // A backward pass that candle says is missing has its own kind: it is not a wrong one.
    let lacks = refusal.variant == "BackwardNotSupported" || refusal.message.contains("not supported");
    let kind = if lacks { Kind::NotSupported } else { Kind::RefusedGradient };
    let detail = format!("expected gradients; got Err: {}", refusal.message);
    fail(OracleName::Gradient, kind, refusal.variant.clone(), seen, detail)
}

/// Whether the outputs depend on the input `name`.
fn depends(evidence: &Evidence, name: &str, stored: usize) -> bool {
    let weights: Vec<f64> = (0..stored).map(|element| weight(element + 1)).collect();
    let derivative = derivative(evidence, name, &evidence.case.inputs[name], &weights);
    derivative.slope != 0.0 || derivative.slope_error != 0.0
}

enum Checked {
    Right,
    Unknown,
    Wrong(String),
}

/// Whether the same values in contiguous tensors give the right gradient of `name`.
fn contiguous_is_right(evidence: &Evidence, name: &str, seen: &Observation) -> bool {
    let Some(Outcome::Returned(returned)) = &seen.contiguous else { return false };
    let Gradients::Returned(store) = &returned.backward else { return false };
    // A contiguous copy of a broadcast input has one gradient per element: not comparable.
    let comparable = |grad: &&Tensor| Some(grad.shape.iter().product()) == evidence.case.inputs[name].stored();
    store
        .gradients
        .get(name)
        .filter(comparable)
        .is_some_and(|grad| !matches!(check(evidence, name, grad), Checked::Wrong(_)))
}

/// Compares `grad` (one entry per stored element of the input) with the reference's derivative.
fn check(evidence: &Evidence, name: &str, grad: &Tensor) -> Checked {
    let input = &evidence.case.inputs[name];
    let (grads, stored) = (grad.floats(), input.stored().unwrap_or(0));
    if grads.len() != stored {
        return Checked::Wrong(format!("expected {stored} gradients of {name}, got {}", grads.len()));
    }
    if stored == 0 {
        return Checked::Right;
    }
    if stored > 1 {
        let weights: Vec<f64> = (0..stored).map(|element| weight(element + 1)).collect();
        let got = grads.iter().zip(&weights).map(|(grad, direction)| grad * direction).sum();
        let spread: f64 = grads.iter().zip(&weights).map(|(grad, direction)| (grad * direction).abs()).sum();
        let mut want = derivative(evidence, name, input, &weights);
        want.slope_error += spread * input.dtype.unit_roundoff();
        if compare_slope(&want, got, grad.dtype, FACTOR * evidence.op.ulps) == Agreement::Same {
            return Checked::Right;
        }
    }
    let mut checked = Checked::Unknown;
    for nth in 0..stored.min(MAX_ELEMENTS) {
        // First, last, and evenly between.
        let element = if stored <= MAX_ELEMENTS { nth } else { nth * (stored - 1) / (MAX_ELEMENTS - 1) };
        let mut direction = vec![0.0; stored];
        direction[element] = 1.0;
        let want = derivative(evidence, name, input, &direction);
        match compare_slope(&want, grads[element], grad.dtype, FACTOR * evidence.op.ulps) {
            Agreement::Unknown => {}
            Agreement::Same => checked = Checked::Right,
            Agreement::Different => {
                let bound = want.slope_error * FACTOR * evidence.op.ulps;
                let (slope, got) = (want.slope, grads[element]);
                return Checked::Wrong(format!(
                    "element {element} of {name}: expected {slope:?} ± {bound:.1e}, got {got:?}"
                ));
            }
        }
    }
    checked
}

/// The derivative of the (weighted) sum of all outputs along `direction`, one entry per stored element of the input.
pub(super) fn derivative(evidence: &Evidence, name: &str, input: &Tensor, direction: &[f64]) -> Num {
    let expanded = expand(input, direction);
    weighted_sum(
        evidence,
        &ReferenceInputs { direction: Some((name, &expanded)), ..ReferenceInputs::new(evidence.case) },
    )
}

/// The (weighted) sum of all outputs of the reference.
pub(super) fn weighted_sum(evidence: &Evidence, inputs: &ReferenceInputs) -> Num {
    let Some(reference) = evidence.op.reference else { return Num::exact(f64::NAN) };
    let outputs = reference(inputs);
    Num::sum(outputs.iter().flat_map(|output| {
        let share = |position| match evidence.case.backward {
            Backward::Weighted | Backward::Twice if output.ndim() > 0 => weight(position),
            _ => 1.0,
        };
        output.iter().enumerate().map(move |(position, &value)| value * Num::exact(share(position)))
    }))
}

/// `direction` over the logical elements: all copies of a broadcast element have its value.
pub(super) fn expand(input: &Tensor, direction: &[f64]) -> Vec<f64> {
    if input.view.broadcast.is_empty() {
        return direction.to_vec();
    }
    let values = direction.iter().map(|&slope| crate::tensor::Value::Float(slope)).collect();
    Tensor { values: crate::tensor::Values::List(values), ..input.clone() }.floats()
}
