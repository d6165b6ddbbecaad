//! The same values in contiguous tensors must give the same result on the same device.
//!
//! If an op has a reference, the reference oracle judges views more precisely, and knows whether only the view is wrong. This
//! oracle is for ops without a reference.

use super::{Evidence, Kind, OracleName, Verdict, fail};
use crate::ops::Contract;
use crate::outcome::{Observation, Outcome, Returned};

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    if matches!(evidence.contract, Contract::Unspecified(_)) {
        return Verdict::Skip("nothing promised");
    }
    if evidence.expected().is_some() {
        return Verdict::Skip("the reference judges both");
    }
    let (Outcome::Returned(viewed), Some(Outcome::Returned(contiguous))) = (&seen.outcome, &seen.contiguous) else {
        return Verdict::Skip("no pair to compare");
    };
    match first_difference(viewed, contiguous) {
        None => Verdict::Pass,
        Some(detail) => fail(
            OracleName::Layout,
            Kind::WrongValue,
            String::new(),
            seen,
            format!("viewed and contiguous differ: {detail}"),
        ),
    }
}

/// The first element that is finite in only one of the results, or of different magnitude. The order of a sum changes the last
/// digits and may cause an overflow, so only differences of more than 1/8 of the largest value count.
pub(super) fn first_difference(viewed: &Returned, contiguous: &Returned) -> Option<String> {
    for (left, right) in viewed.outputs.iter().zip(&contiguous.outputs) {
        if left.shape != right.shape {
            return Some(format!("shape {:?} against {:?}", left.shape, right.shape));
        }
        let scale = right.floats().into_iter().filter(|value| value.is_finite()).fold(0.0, |a: f64, b| a.max(b.abs()));
        for (position, (a, b)) in left.floats().into_iter().zip(right.floats()).enumerate() {
            let near = if a.is_finite() && b.is_finite() { (a - b).abs() <= scale / 8.0 } else { class(a) == class(b) };
            if !near && scale < right.dtype.max() / 4.0 {
                return Some(format!("element {position}: {a:?} against {b:?}"));
            }
        }
    }
    None
}

fn class(value: f64) -> (bool, bool, bool) {
    (value.is_nan(), value == f64::INFINITY, value == f64::NEG_INFINITY)
}
