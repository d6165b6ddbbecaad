//! Errors that the device diagnosed, on any input.

use super::{Evidence, Kind, OracleName, Site, Verdict, fail};
use crate::outcome::{Observation, Outcome, Phase};

pub fn judge(_: &Evidence, seen: &Observation) -> Verdict {
    let Outcome::Faulted(fault) = &seen.outcome else { return Verdict::Pass };
    // Uploading the inputs and the forward call share one asynchronous queue on the device.
    let phase = if fault.phase == Phase::Backward { Phase::Backward } else { Phase::Forward };
    let nothing_known = fault.place.is_unknown() && phase == Phase::Forward;
    let site = if nothing_known { Site::Call } else { Site::at(&fault.place, phase) };
    fail(OracleName::Fault, Kind::from(fault.kind.clone()), site, seen, fault.message.clone())
}
