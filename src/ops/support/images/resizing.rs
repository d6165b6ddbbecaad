//! Images of another size.

use ndarray::{ArrayD, IxDyn};

use crate::case::Case;
use crate::number::Num;
use crate::ops::{Contract, why};
use crate::tensor::product;

/// The contract for an `x` of the right rank that gets these sizes.
pub fn resized_contract(case: &Case, target: &[usize]) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
    if target.contains(&0) {
        return Contract::Unspecified("an image of size 0");
    }
    if x.shape[2..].contains(&0) {
        return Contract::Rejects("no element to take values from");
    }
    let shape = [&x.shape[..2], target].concat();
    if product(target).is_none_or(|n| n > 1 << 22) || product(&shape).is_none_or(|n| n > 1 << 22) {
        return Contract::Unspecified(why::TOO_LARGE);
    }
    Contract::accepts(x.dtype, &shape)
}

/// `x` resized to `target`: every position takes the element at or before it.
pub fn nearest(x: &ArrayD<Num>, target: &[usize]) -> ArrayD<Num> {
    let shape = [&x.shape()[..2], target].concat();
    ArrayD::from_shape_fn(IxDyn(&shape), |position| {
        let mut unclear = false;
        let mut at = vec![position[0], position[1]];
        for (d, &size) in target.iter().enumerate() {
            let (from, i) = (x.shape()[d + 2], position[d + 2]);
            let exact = i * from / size;
            // Rounding may move a position that is on an element to just before it.
            unclear |= (i as f64 * (from as f64 / size as f64)) as usize != exact;
            at.push(exact);
        }
        let value = x[at.as_slice()];
        if unclear { Num { peak: f64::INFINITY, ..value } } else { value }
    })
}
