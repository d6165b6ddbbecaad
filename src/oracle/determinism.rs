//! The same case twice on the same device.

use super::{Evidence, Observation, Verdict, fail};

pub fn judge(_: &Evidence, seen: &Observation) -> Verdict {
    match &seen.again {
        None => Verdict::Pass,
        Some(again) => {
            let detail = format!("first {}; then {}", seen.outcome.summary(), again.summary());
            fail("determinism", "differs", String::new(), seen, detail)
        }
    }
}
