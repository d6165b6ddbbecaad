//! What a device reported beside the outcome of a case.

use device_record::Kind;
use serde::{Deserialize, Serialize};

use super::Place;

/// What a simulated device, a sanitizer or the fence on the CPU reported without ending the case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceReports {
    /// What a kernel did wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<DeviceReport>,
    /// What is odd and may be meant, such as index arithmetic that wraps; a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
}

impl DeviceReports {
    /// Whether nothing was reported.
    pub fn is_empty(&self) -> bool {
        self.reports.is_empty() && self.facts.is_empty()
    }
}

/// One diagnosis that did not end the case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceReport {
    /// The checker: `uninitialized read`, `race`, `barrier` …
    pub kind: Kind,
    /// The source line of the kernel, or the kernel, if the device reports it.
    pub place: Place,
    /// The device's message, for people.
    pub message: String,
}
