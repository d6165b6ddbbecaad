//! What a worker answers about a case.

use super::CandleUnderTest;
use super::protocol::Again;
use crate::device::Device;
use crate::outcome::{DeviceReports, Efforts, Observation, Outcome};

/// The result of a case on a worker's device.
#[derive(Debug)]
pub struct Answer {
    /// The first run's outcome.
    pub outcome: Outcome,
    /// The second run's outcome, if it differs.
    pub again: Option<Outcome>,
    /// What the device reported in both.
    pub device_reports: DeviceReports,
    /// The work of the second run, if it is worth judging.
    pub efforts: Option<Efforts>,
}

impl Answer {
    /// The outcome of the first run, and the second, if there was one.
    pub(super) fn new(outcome: Outcome, again: Option<Again>, device_reports: DeviceReports) -> Self {
        let (again, efforts) = again.map_or((None, None), |again| (again.outcome, again.efforts));
        Self { outcome, again, device_reports, efforts }
    }

    /// The answer as an observation on its device.
    pub fn on(self, device: Device) -> Observation {
        let Self { outcome, again, device_reports, efforts } = self;
        Observation { again, device_reports, efforts, ..Observation::new(device, outcome) }
    }

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
        Self::new(outcome, None, DeviceReports::default())
    }
}
