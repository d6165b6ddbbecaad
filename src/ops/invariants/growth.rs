//! Running sums of numbers that are not negative never become smaller.

use super::groups;
use crate::case::Case;
use crate::number::accumulator;
use crate::tensor::{DType, Tensor};

/// The first running sum that is smaller than the one before it, or than its own last term, by more than roundings may add up to where each
/// is computed for itself.
pub fn shrinking(case: &Case, output: &Tensor) -> Option<String> {
    let x = case.tensor("x").filter(|x| DType::FLOATS.contains(&x.dtype) && output.shape == x.shape)?;
    let (terms, sums, rows) = (x.floats(), output.floats(), groups::of(case, x)?);
    let unit = x.dtype.unit_roundoff();
    rows.iter().enumerate().find_map(|(row, places)| {
        if !places.iter().all(|&at| terms[at].is_finite() && terms[at] >= 0.0) {
            return None;
        }
        let slack = 4.0 * unit + 2.0 * places.len() as f64 * accumulator(unit);
        let mut before = 0.0_f64;
        places.iter().find_map(|&at| {
            let least = before.max(terms[at]).min(x.dtype.max());
            let is_less = sums[at].is_nan() || sums[at] < least * (1.0 - slack) - f64::from(f32::MIN_POSITIVE);
            before = sums[at];
            is_less.then(|| format!("row {row}: expected at least {least:?}, got {:?}", sums[at]))
        })
    })
}
