//! Two calls that candle has for one thing must both be accepted or both be refused, and agree, where nothing else is promised.

mod rounded;

use super::{Evidence, Kind, OracleName, SiblingDoes, Site, Verdict, fail};
use crate::ops::{Contract, Same, sibling};
use crate::outcome::{Observation, Outcome, Returned};

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    let (Some(other), Some((sibling, _))) = (&seen.sibling, sibling(evidence.case)) else {
        return Verdict::Skip("no sibling");
    };
    // Any other outcome of the contiguous copy is judged elsewhere.
    let is_rejected = |outcome: &Outcome| matches!(outcome, Outcome::Rejected(_));
    if is_rejected(&seen.outcome) && seen.contiguous.as_ref().is_some_and(|copy| !is_rejected(copy)) {
        return Verdict::Skip("rejected because of the layout");
    }
    let name = sibling.name;
    let site = |does| Site::Sibling(name.to_string(), does);
    match (&seen.outcome, other) {
        (Outcome::Returned(own), Outcome::Returned(precise)) if sibling.same == Same::Rounded => {
            match rounded::difference(evidence, seen, own, precise) {
                Err(why) => Verdict::Skip(why),
                Ok(None) => Verdict::Pass,
                Ok(Some(difference)) => {
                    let detail = format!("the call and {name} differ: {difference}");
                    fail(OracleName::Siblings, Kind::Differs, site(SiblingDoes::ReturnsOtherwise), seen, detail)
                }
            }
        }
        _ if sibling.same == Same::Rounded => Verdict::Skip("one of both is refused"),
        (Outcome::Rejected(refusal), Outcome::Returned(_)) => {
            let detail = format!("{name} accepts these arguments; got Err: {}", refusal.message);
            let is_supported = evidence.supported(seen.device);
            let does = if is_supported { SiblingDoes::Accepts } else { SiblingDoes::TakesTheDType };
            fail(OracleName::Siblings, Kind::OnlyOneAccepts, site(does), seen, detail)
        }
        (Outcome::Returned(_), Outcome::Rejected(refusal)) => {
            let detail = format!("{name} rejects these arguments with Err: {}", refusal.message);
            fail(OracleName::Siblings, Kind::OnlyOneAccepts, site(SiblingDoes::Refuses), seen, detail)
        }
        (Outcome::Returned(own), Outcome::Returned(others))
            if sibling.same == Same::Values && matches!(evidence.contract, Contract::Unspecified(_)) =>
        {
            match first_difference(own, others) {
                None => Verdict::Pass,
                Some(difference) => {
                    let detail = format!("the call and {name} differ: {difference}");
                    fail(OracleName::Siblings, Kind::Differs, site(SiblingDoes::ReturnsOtherwise), seen, detail)
                }
            }
        }
        _ => Verdict::Pass,
    }
}

/// The first output of another shape or dtype, or the first pair of finite elements that are further apart than an eighth of the
/// largest. Two formulas may overflow in different places, so an infinity or NaN is no difference.
fn first_difference(own: &Returned, others: &Returned) -> Option<String> {
    for (left, right) in own.outputs.iter().zip(&others.outputs) {
        if (left.dtype, &left.shape) != (right.dtype, &right.shape) {
            return Some(format!("{}{:?} against {}{:?}", left.dtype, left.shape, right.dtype, right.shape));
        }
        let pairs: Vec<(f64, f64)> = left.floats().into_iter().zip(right.floats()).collect();
        let finite = |(a, b): &(f64, f64)| a.is_finite() && b.is_finite();
        let largest = pairs.iter().filter(|pair| finite(pair)).fold(0.0, |most: f64, (_, b)| most.max(b.abs()));
        let apart = |pair: &(f64, f64)| finite(pair) && (pair.0 - pair.1).abs() > largest / 8.0;
        if let Some(position) = pairs.iter().position(apart) {
            let (a, b) = pairs[position];
            return Some(format!("element {position}: {a:?} and {b:?}"));
        }
    }
    None
}
