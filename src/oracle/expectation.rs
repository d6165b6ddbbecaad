//! Expected elements, for programs and tests that state them: of outputs from the reference, of gradients from its derivative.

use super::Evidence;
use super::compare::{Agreement, bound, compare, compare_slope, expected};
use super::derivative::{FACTOR, derivative};
use crate::outcome::Returned;
use crate::tensor::Tensor;

/// At most this many elements of a gradient: each needs a run of the reference.
const MAX_ELEMENTS: usize = 256;

/// The expected value of an element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expectation {
    /// The element's position in row-major order.
    pub position: usize,
    /// Its value.
    pub value: f64,
    /// The tolerance.
    pub within: f64,
    /// Whether the actual value was within the tolerance.
    pub kept: bool,
}

impl Evidence<'_> {
    /// The specified elements of each output.
    pub fn expectations(&self, returned: &Returned) -> Vec<Vec<Expectation>> {
        let ulps = self.op.ulps;
        let outputs = self.expected().unwrap_or_default().iter().zip(&returned.outputs);
        let of = |(numbers, got): (&ndarray::ArrayD<crate::number::Num>, &Tensor)| {
            let elements = numbers.iter().zip(got.floats()).enumerate();
            let specified = elements.filter_map(|(position, (want, value))| {
                let agreement = compare(want, value, got.dtype, ulps);
                let within = bound(want.error, got.dtype, ulps);
                expectation(position, expected(want, got.dtype, ulps), within, agreement)
            });
            specified.collect()
        };
        outputs.map(of).collect()
    }

    /// The specified elements of the gradient of the input `name`, which has one element for each that the input stores.
    pub fn gradient_expectations(&self, name: &str, grad: &Tensor) -> Vec<Expectation> {
        // Without outputs that are promised there is nothing to differentiate.
        let Some(input) = self.case.tensor(name).filter(|_| self.expected().is_some()) else { return Vec::new() };
        let factor = FACTOR * self.op.ulps;
        let (grads, stored) = (grad.floats(), input.stored().unwrap_or(0));
        if grads.len() != stored {
            return Vec::new();
        }
        let of = |element: usize| {
            let mut direction = vec![0.0; stored];
            direction[element] = 1.0;
            let want = derivative(self, name, input, &direction);
            let agreement = compare_slope(&want, grads[element], grad.dtype, factor);
            expectation(element, want.slope, bound(want.slope_error, grad.dtype, factor), agreement)
        };
        (0..stored.min(MAX_ELEMENTS)).filter_map(of).collect()
    }

    /// The sum of the gradient `grad` over all elements of the input `name`, at the position 0. Equal elements that compete may share it
    /// in any way.
    pub fn gradient_sum(&self, name: &str, grad: &Tensor) -> Option<Expectation> {
        let input = self.case.tensor(name).filter(|_| self.expected().is_some())?;
        let (factor, grads) = (FACTOR * self.op.ulps, grad.floats());
        let mut want = derivative(self, name, input, &vec![1.0; input.stored()?]);
        want.slope_error += grads.iter().map(|grad| grad.abs()).sum::<f64>() * grad.dtype.unit_roundoff();
        let agreement = compare_slope(&want, grads.iter().sum(), grad.dtype, factor);
        expectation(0, want.slope, bound(want.slope_error, grad.dtype, factor), agreement)
    }
}

fn expectation(position: usize, value: f64, within: f64, agreement: Agreement) -> Option<Expectation> {
    let kept = agreement == Agreement::Same;
    (agreement != Agreement::Unknown).then_some(Expectation { position, value, within, kept })
}
