//! Devices with each other, where nothing else is promised: whether they accept the case, then what they return.

use super::layout::first_difference;
use super::{Evidence, Observation, Verdict, fail};
use crate::ops::Contract;
use crate::outcome::Outcome;

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    let first = &evidence.observations[0];
    if first.device == seen.device {
        return Verdict::Skip("one device");
    }
    if matches!(evidence.contract, Contract::Unspecified(_)) {
        return Verdict::Skip("nothing promised");
    }
    match (&first.outcome, &seen.outcome) {
        (Outcome::Returned(_), Outcome::Rejected(refusal)) => {
            let detail = format!("{} returns, {} says Err: {}", first.device, seen.device, refusal.message);
            fail("agreement", "only one accepts", refusal.variant.clone(), seen, detail)
        }
        (Outcome::Rejected(refusal), Outcome::Returned(_)) => {
            let detail = format!("{} returns, {} says Err: {}", seen.device, first.device, refusal.message);
            fail("agreement", "only one accepts", refusal.variant.clone(), seen, detail)
        }
        (Outcome::Returned(left), Outcome::Returned(right)) if evidence.expected().is_none() => {
            match first_difference(left, right) {
                None => Verdict::Pass,
                Some(difference) => {
                    let detail = format!("{} and {} differ: {difference}", first.device, seen.device);
                    fail("agreement", "wrong value", String::new(), seen, detail)
                }
            }
        }
        _ => Verdict::Pass,
    }
}
