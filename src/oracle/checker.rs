//! What the device's checkers report, on any input, though the case went on: hardware says nothing there, and what it computes
//! depends on the day.

use super::{Evidence, Verdict, fail};
use crate::outcome::Observation;

pub fn judge(_: &Evidence, seen: &Observation) -> Verdict {
    match seen.device_reports.reports.first() {
        Some(report) => fail("checker", &report.kind, report.place.clone(), seen, report.message.clone()),
        None => Verdict::Pass,
    }
}
