//! A failure that fixes are tried on.

use std::collections::BTreeMap;

use crate::candles::digest;
use crate::device::Device;
use crate::store::regression::Regression;

/// A failure that a fix may remove.
#[derive(Debug)]
pub struct Subject {
    /// The name of the failure, which a store gives it.
    pub name: String,
    /// The case, and how it fails.
    pub kept: Regression,
    /// The cause that a predicate says it has on each device: one name, such as that of a `NaN` that is lost, may have another on CUDA.
    pub causes: BTreeMap<Device, String>,
}

impl Subject {
    /// What tells it from others: its case and its failure.
    pub fn key(&self) -> String {
        digest([self.name.as_bytes(), self.kept.case.to_text().as_bytes()])
    }
}
