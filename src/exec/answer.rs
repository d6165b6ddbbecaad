//! What a worker answers about a case.

use super::CandleUnderTest;
use crate::outcome::{DeviceReports, Outcome};

/// The result of a case on a worker's device.
#[derive(Debug)]
pub struct Answer {
    /// The first run's outcome.
    pub outcome: Outcome,
    /// The second run's outcome, if it differs.
    pub again: Option<Outcome>,
    /// What the device reported in both.
    pub device_reports: DeviceReports,
}

impl Answer {
    /// The answer with the function of each place, if that is one of another candle.
    pub(super) fn located(mut self, candle: Option<&CandleUnderTest>) -> Self {
        let Some(CandleUnderTest { functions, .. }) = candle else { return self };
        for outcome in std::iter::once(&mut self.outcome).chain(&mut self.again) {
            match outcome {
                Outcome::Panicked(panic) => functions.locate(&mut panic.place),
                Outcome::Faulted(fault) => functions.locate(&mut fault.place),
                _ => {}
            }
        }
        self.device_reports.reports.iter_mut().for_each(|report| functions.locate(&mut report.place));
        self
    }
}

impl From<Outcome> for Answer {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, again: None, device_reports: DeviceReports::default() }
    }
}
