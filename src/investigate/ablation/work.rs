//! How much work a variant of a case is: what takes minutes is not tried.

use crate::case::Case;
use crate::ops::{Contract, Op};
use crate::tensor::{Tensor, elements, product};

/// Whether `other` in place of `size` leaves tensors that are quick to make: 257 four times is 70 GB.
pub fn is_affordable(case: &Case, size: usize, other: usize) -> bool {
    const MOST: usize = 1 << 21;
    let resized = |tensor: &Tensor| -> Vec<usize> {
        tensor.shape.iter().map(|&own| if own == size { other } else { own }).collect()
    };
    case.inputs.values().all(|tensor| product(&resized(tensor)).is_some_and(|count| count <= MOST))
}

/// About this many multiplications take seconds, also without optimization.
const MOST_WORK: f64 = (1_u64 << 28) as f64;

/// Whether a call takes so long that it is not worth trying.
pub fn takes_long(op: &Op, case: &Case) -> bool {
    work(op, case) > MOST_WORK
}

/// Roughly how many multiplications a call takes. It is exact for a product of matrices, m×k by k×n: the root of mk·kn·mn.
fn work(op: &Op, case: &Case) -> f64 {
    let sizes = |shape: &[usize]| elements(shape).map_or(f64::INFINITY, |count| count as f64);
    let mut read: Vec<f64> = case.inputs.values().map(|tensor| sizes(&tensor.shape)).collect();
    read.sort_by(|one, other| other.total_cmp(one));
    let written = match op.contract(case) {
        Contract::Accepts { outputs, .. } => outputs.iter().map(|(_, shape)| sizes(shape)).fold(1.0, f64::max),
        Contract::Rejects(_) | Contract::Unspecified(_) => read.first().copied().unwrap_or(1.0),
    };
    match read[..] {
        [one, other, ..] => (one * other * written).sqrt().max(written),
        _ => read.first().copied().unwrap_or(1.0).max(written),
    }
}
