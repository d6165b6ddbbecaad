//! Anything the device diagnosed, on any input.

use super::{Evidence, Verdict, fail};
use crate::outcome::{Observation, Outcome, Phase};

pub fn judge(_: &Evidence, seen: &Observation) -> Verdict {
    let Outcome::Faulted(fault) = &seen.outcome else { return Verdict::Pass };
    let site = match fault.phase {
        Phase::Backward => format!("{} in backward", fault.place),
        Phase::Inputs | Phase::Forward => fault.place.clone(),
    };
    fail("fault", &fault.kind, site, seen, fault.message.clone())
}
