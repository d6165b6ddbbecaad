//! The contract of products of vectors.

use crate::case::Case;
use crate::ops::{Contract, why};
use crate::tensor::Tensor;

/// The inputs `x` and `rhs`.
pub fn operands(case: &Case) -> Option<(&Tensor, &Tensor)> {
    Some((case.tensor("x")?, case.tensor("rhs")?))
}

/// Accepts a product of `shape` if the sizes fit: `fits` says whether they do.
pub fn contract(x: &Tensor, rhs: &Tensor, fits: bool, shape: &[usize]) -> Contract {
    if !fits {
        return Contract::Rejects(why::SHAPES);
    }
    if x.dtype != rhs.dtype {
        return Contract::Rejects(why::MIXED);
    }
    let largest = |t: &Tensor| t.floats().into_iter().map(f64::abs).fold(0.0, f64::max);
    let limit = x.dtype.max().min(2f64.powi(53));
    if !x.dtype.is_float() && largest(x) * largest(rhs) * rhs.elements().unwrap_or(0) as f64 > limit {
        return Contract::Unspecified(why::OVERFLOW);
    }
    Contract::accepts(x.dtype, shape)
}
