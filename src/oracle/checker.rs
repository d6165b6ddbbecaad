//! Reports of the device's checkers that did not end the case, on any input. Hardware is silent there, and its results vary
//! from run to run.

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
