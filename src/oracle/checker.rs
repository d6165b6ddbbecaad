//! Reports of the device's checkers that did not end the case, on any input. Hardware is silent there, and its results vary from run
//! to run. A caller who writes two elements to one place asked for the race.

use std::collections::BTreeSet;

use super::{Evidence, Kind, OracleName, Site, Verdict, violation};
use crate::ops::has_rivals;
use crate::outcome::{Observation, Phase};

/// One violation for the first report of each checker: the others are most likely its consequences.
pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    let mut kinds = BTreeSet::new();
    let rivals = has_rivals(evidence.case);
    let reports =
        seen.device_reports.reports.iter().filter(|report| report.kind != device_record::Kind::Race || !rivals);
    let firsts = reports.filter(|report| kinds.insert(report.kind.name()));
    let violations = firsts.map(|report| {
        let (kind, place) = (Kind::Report(report.kind), &report.place);
        // Nothing orders the threads of a case, or its device objects, whichever kernel is the first to show it.
        let is_spread = !evidence.case.threads.is_empty() || !evidence.case.devices.is_empty();
        let is_of_the_case = report.kind == device_record::Kind::StreamRace && is_spread;
        let site = if place.is_unknown() || is_of_the_case { Site::Call } else { Site::at(place, Phase::Forward) };
        violation(OracleName::Checker, kind, site, seen, report.message.clone())
    });
    Verdict::of(violations.collect(), Verdict::Pass)
}
