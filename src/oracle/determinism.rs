//! Runs of the same case on the same device must agree.

use super::{Evidence, Kind, OracleName, Verdict, fail};
use crate::ops::Contract;
use crate::outcome::{Observation, Outcome};

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    match &seen.again {
        // A panic may leave a poisoned lock for the second run.
        Some(_) if matches!(seen.outcome, Outcome::Panicked(_)) => Verdict::Skip("the first run panicked"),
        None => Verdict::Pass,
        // The random values of an op may decide whether integers overflow.
        Some(Outcome::Panicked(_)) if matches!(evidence.contract, Contract::Unspecified(_)) => {
            Verdict::Skip("nothing promised, and the second run panicked")
        }
        Some(again) => {
            let detail = format!("first {}; then {}", seen.outcome.summary(), again.summary());
            fail(OracleName::Determinism, Kind::Differs, String::new(), seen, detail)
        }
    }
}
