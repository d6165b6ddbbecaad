//! Derivatives of an op's reference, by forward-mode differentiation.

use super::Evidence;
use crate::case::{Backward, weight};
use crate::number::Num;
use crate::ops::ReferenceInputs;
use crate::tensor::{Tensor, Value, Values};

/// The backward pass evaluates other formulas than forward-mode differentiation, so its bound is this much wider.
pub(super) const FACTOR: f64 = 4.0;

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
    let Some(reference) = evidence.op.reference() else { return Num::exact(f64::NAN) };
    let outputs = reference(inputs);
    Num::sum(outputs.iter().flat_map(|output| {
        let share = |position| match evidence.case.backward {
            Backward::Weighted | Backward::Twice if output.ndim() > 0 => weight(position),
            _ => 1.0,
        };
        // Nothing is multiplied, and rounded, for a weight of 1.
        let weighted = move |value: Num, share: f64| if share == 1.0 { value } else { value * Num::exact(share) };
        output.iter().enumerate().map(move |(position, &value)| weighted(value, share(position)))
    }))
}

/// `direction` over the logical elements: all copies of a broadcast element have its value.
pub(super) fn expand(input: &Tensor, direction: &[f64]) -> Vec<f64> {
    if input.view.broadcast.is_empty() {
        return direction.to_vec();
    }
    let values = direction.iter().map(|&slope| Value::Float(slope)).collect();
    Tensor { values: Values::List(values), ..input.clone() }.floats()
}
