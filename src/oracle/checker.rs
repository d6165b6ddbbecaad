//! What the device's checkers report, on any input, though the case went on: hardware says nothing there, and what it computes
//! depends on the day.

use super::site::by_function;
use super::{Evidence, Kind, OracleName, Verdict, fail};
use crate::outcome::Observation;

pub fn judge(_: &Evidence, seen: &Observation) -> Verdict {
    match seen.device_reports.reports.first() {
        Some(report) => fail(
            OracleName::Checker,
            Kind::from(report.kind.as_str()),
            by_function(&report.place),
            seen,
            report.message.clone(),
        ),
        None => Verdict::Pass,
    }
}
