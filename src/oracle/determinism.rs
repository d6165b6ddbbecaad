//! The same case twice on the same device.

use super::{Evidence, Observation, Verdict, fail};
use crate::outcome::Outcome;

pub fn judge(_: &Evidence, seen: &Observation) -> Verdict {
    match &seen.again {
        // A panic may leave a lock behind that the second run finds poisoned.
        Some(_) if matches!(seen.outcome, Outcome::Panicked(_)) => Verdict::Skip("the first run panicked"),
        None => Verdict::Pass,
        Some(again) => {
            let detail = format!("first {}; then {}", seen.outcome.summary(), again.summary());
            fail("determinism", "differs", String::new(), seen, detail)
        }
    }
}
