//! What elements should be, for programs and tests that state them: of outputs by the reference, of gradients by its derivative.

use super::compare::{Agreement, bound, compare, compare_slope};
use super::{Evidence, gradient};
use crate::outcome::Returned;
use crate::tensor::Tensor;

/// The most elements of a gradient that are looked at: the reference is computed once for each.
const SINGLES: usize = 256;

/// What an element should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expectation {
    /// Its place in row-major order.
    pub position: usize,
    /// Its value.
    pub value: f64,
    /// How far off it may be.
    pub within: f64,
    /// Whether it was as it should be.
    pub kept: bool,
}

impl Evidence<'_> {
    /// The elements of each output of which something is promised.
    pub fn expectations(&self, returned: &Returned) -> Vec<Vec<Expectation>> {
        let (ulps, infinite) = (self.op.ulps, self.any_value(f64::is_infinite));
        let outputs = self.expected().unwrap_or_default().iter().zip(&returned.outputs);
        let of = |(expected, got): (&ndarray::ArrayD<crate::number::Num>, &Tensor)| {
            let elements = expected.iter().zip(got.floats()).enumerate();
            let expected = elements.filter_map(|(position, (want, value))| {
                let agreement = compare(want, value, got.dtype, ulps, infinite);
                expectation(position, want.value, bound(want.error, got.dtype, ulps), agreement)
            });
            expected.collect()
        };
        outputs.map(of).collect()
    }

    /// The elements of the gradient of the input `name`, one for each that it stores, of which something is promised.
    pub fn gradient_expectations(&self, name: &str, grad: &Tensor) -> Vec<Expectation> {
        let (input, factor) = (&self.case.inputs[name], gradient::FACTOR * self.op.ulps);
        let (grads, stored) = (grad.floats(), input.stored().unwrap_or(0));
        if grads.len() != stored {
            return Vec::new();
        }
        let of = |element: usize| {
            let mut direction = vec![0.0; stored];
            direction[element] = 1.0;
            let want = gradient::derivative(self, name, input, &direction);
            let agreement = compare_slope(&want, grads[element], grad.dtype, factor);
            expectation(element, want.slope, bound(want.slope_error, grad.dtype, factor), agreement)
        };
        (0..stored.min(SINGLES)).filter_map(of).collect()
    }
}

fn expectation(position: usize, value: f64, within: f64, agreement: Agreement) -> Option<Expectation> {
    let kept = agreement == Agreement::Same;
    (agreement != Agreement::Unknown).then_some(Expectation { position, value, within, kept })
}
