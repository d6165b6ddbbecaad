//! The same values in contiguous tensors must give the same result on the same device.
//!
//! If an op has a reference, the reference oracle judges views more precisely, and knows whether only the view is wrong. This
//! oracle is for ops without a reference.

use super::{Evidence, Kind, OracleName, Site, Verdict, fail};
use crate::ops::Contract;
use crate::outcome::{Observation, Outcome, Refusal, Returned};

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    // What writes in place may refuse to read from the buffer that it writes, whatever the layout.
    let shared = evidence.case.inputs.keys().any(|name| evidence.case.is_shared(name));
    let unspecified = matches!(evidence.contract, Contract::Unspecified(_)) && !shared;
    if let (true, Some(contiguous)) = (unspecified, &seen.contiguous)
        && let Some((site, refusal)) = one_refused(&seen.outcome, contiguous)
    {
        let detail = format!("the same values in the other layout are accepted; got Err: {}", refusal.message);
        return fail(OracleName::Layout, Kind::Limitation, site, seen, detail);
    }
    if evidence.expected().is_some() {
        return Verdict::Skip("the reference judges both");
    }
    if evidence.is_open() {
        return Verdict::Skip("both may be right");
    }
    let (Outcome::Returned(viewed), Some(Outcome::Returned(contiguous))) = (&seen.outcome, &seen.contiguous) else {
        return Verdict::Skip("no pair to compare");
    };
    match first_difference(viewed, contiguous) {
        None => Verdict::Pass,
        Some(detail) => fail(
            OracleName::Layout,
            Kind::WrongValue,
            Site::Call,
            seen,
            format!("viewed and contiguous differ: {detail}"),
        ),
    }
}

/// Which of a view and its contiguous copy is refused, if only one is.
fn one_refused<'a>(viewed: &'a Outcome, contiguous: &'a Outcome) -> Option<(Site, &'a Refusal)> {
    match (viewed, contiguous) {
        (Outcome::Rejected(refusal), Outcome::Returned(_)) => Some((Site::View, refusal)),
        (Outcome::Returned(_), Outcome::Rejected(refusal)) => Some((Site::Contiguous, refusal)),
        _ => None,
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
                return Some(format!("element {position}: {a:?} and {b:?}"));
            }
        }
    }
    None
}

fn class(value: f64) -> (bool, bool, bool) {
    (value.is_nan(), value == f64::INFINITY, value == f64::NEG_INFINITY)
}
