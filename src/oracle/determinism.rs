//! The same case twice on the same device.

use super::{Evidence, Kind, OracleName, Verdict, fail};
use crate::ops::Contract;
use crate::outcome::{Observation, Outcome};

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    match &seen.again {
        // A panic may leave a lock behind that the second run finds poisoned.
        Some(_) if matches!(seen.outcome, Outcome::Panicked(_)) => Verdict::Skip("the first run panicked"),
        None => Verdict::Pass,
        // What an op draws at random may decide whether integers overflow.
        Some(Outcome::Panicked(_)) if matches!(evidence.contract, Contract::Unspecified(_)) => {
            Verdict::Skip("nothing promised, and the second run panicked")
        }
        Some(again) => {
            let detail = format!("first {}; then {}", seen.outcome.summary(), again.summary());
            fail(OracleName::Determinism, Kind::Differs, String::new(), seen, detail)
        }
    }
}
