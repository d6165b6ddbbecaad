//! What only a device that checks each access can tell.
//!
//! A GPU notices an address outside of a buffer only if no page is mapped there, and its driver maps pages of 2 MiB, which many
//! buffers share (`docs/gpu/h200.md`). Elsewhere it reads or writes what lies there: the call may still fault, return some value,
//! or seem right.

use super::{CudaError, DeviceReports, Observation, Outcome};

impl DeviceReports {
    /// Why a device without checkers may do something else, if one that checks made these reports and ended like this.
    pub fn only_checkers_tell(&self, outcome: &Outcome) -> Option<String> {
        if let Some(report) = self.reports.first() {
            let (kind, place) = (&report.kind, &report.place);
            return Some(format!(
                "the result is not determined, as only a device that checks reports: {kind} at {place}"
            ));
        }
        let mapped = "a GPU only notices a wrong address outside all mapped pages";
        match outcome {
            // What follows from the bytes there may be another fault.
            Outcome::Faulted(fault) if fault.kind == CudaError::IllegalAddress => {
                Some(format!("{mapped}: {}", fault.place))
            }
            // Linked kernels end the process if a call fails.
            Outcome::Died(death) if death.stderr.contains("is out of bounds") => Some(mapped.to_string()),
            _ => None,
        }
    }
}

impl Observation {
    /// The same of a case on a device that checks, also with its values in contiguous tensors.
    pub fn only_checkers_tell(&self) -> Option<String> {
        let outcomes = std::iter::once(&self.outcome).chain(&self.contiguous);
        outcomes.into_iter().find_map(|outcome| self.device_reports.only_checkers_tell(outcome))
    }
}
