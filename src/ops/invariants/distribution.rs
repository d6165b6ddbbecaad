//! Probabilities add up to 1, whatever they are of, up to the roundings of each and of what they are divided by.

use super::groups;
use crate::case::Case;
use crate::number::accumulator;
use crate::tensor::{DType, Tensor};

/// The first row of finite numbers whose results, or if `logarithms` their exponentials, do not add up to 1. NaN has a law of its own.
pub fn not_one(logarithms: bool, case: &Case, output: &Tensor) -> Option<String> {
    let x = case.tensor("x").filter(|x| DType::FLOATS.contains(&x.dtype) && output.shape == x.shape)?;
    let (numbers, results, rows) = (x.floats(), output.floats(), groups::of(case, x)?);
    let unit = x.dtype.unit_roundoff();
    rows.iter().enumerate().find_map(|(row, places)| {
        let count = places.len() as f64;
        let is_known = |&at: &usize| numbers[at].is_finite() && !results[at].is_nan();
        if places.is_empty() || !places.iter().all(is_known) {
            return None;
        }
        let probability = |&at: &usize| if logarithms { results[at].exp() } else { results[at] };
        let total: f64 = places.iter().map(probability).sum();
        // The relative error of an exponential is the absolute one of the logarithm, whose size is, weighted by the probabilities, at most
        // the logarithm of their number.
        let own = if logarithms { 16.0 * unit * (1.0 + count.ln()) } else { 16.0 * unit };
        let slack = own + count * (accumulator(unit) + x.dtype.smallest() + f64::from(f32::MIN_POSITIVE));
        let what = if logarithms { "the exponentials" } else { "the elements" };
        ((total - 1.0).abs() > slack)
            .then(|| format!("row {row}: expected {what} to add up to 1 ± {slack:.1e}, got {total:?}"))
    })
}
