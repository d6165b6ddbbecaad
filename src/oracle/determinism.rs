//! Runs of the same case on the same device must agree.

use super::contract::is_overflow;
use super::{Evidence, Kind, OracleName, Site, Verdict, fail};
use crate::ops::Contract;
use crate::outcome::{Observation, Outcome};

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    match &seen.again {
        // A panic may leave a poisoned lock for the second run.
        Some(_) if matches!(seen.outcome, Outcome::Panicked(_)) => Verdict::Skip("the first run panicked"),
        None => Verdict::Pass,
        // The random values of an op may decide whether integers overflow.
        Some(Outcome::Panicked(panic)) if matches!(evidence.contract, Contract::Unspecified(why) if is_overflow(panic, why)) => {
            Verdict::Skip("the second run overflowed")
        }
        Some(again) => {
            let detail = format!("first {}; then {}", seen.outcome.summary(), again.summary());
            fail(OracleName::Determinism, Kind::Differs, Site::Call, seen, detail)
        }
    }
}
