//! Regressions that do something else with one candle than with the other.

use crate::device::Device;
use crate::ops::Op;
use crate::oracle::{Evidence, OracleName, Signature, judge};
use crate::outcome::Observation;
use crate::store::regression::Regression;

use super::Both;

/// A regression whose status turned on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turned {
    /// Its name.
    pub name: String,
    /// What happens, in a sentence.
    pub title: String,
    /// The device.
    pub device: Device,
    /// What it does with the base and with the head.
    pub does: [String; 2],
}

impl Turned {
    /// What turned of the regression `name`, on each device.
    pub fn of(name: &str, kept: &Regression, op: &'static Op, seen: &Both) -> Vec<Self> {
        let [base, head] = seen.each_ref().map(|side| side.observations.as_slice());
        let turned = |(base, head): (String, String), device| Self {
            name: name.to_string(),
            title: kept.title.clone(),
            device,
            does: [base, head],
        };
        // Only a regression of the agreement oracle compares devices with each other: each with the first.
        if kept.signature.as_ref().is_some_and(|signature| signature.oracle == OracleName::Agreement) {
            let pair = (status(kept, op, base), status(kept, op, head));
            let device = base.last().map(|seen| seen.device);
            return device.filter(|_| pair.0 != pair.1).map(|device| turned(pair, device)).into_iter().collect();
        }
        let pairs = base.iter().zip(head).map(|(base, head)| {
            let one = std::slice::from_ref::<Observation>;
            ((status(kept, op, one(base)), status(kept, op, one(head))), base.device)
        });
        pairs.filter(|((base, head), _)| base != head).map(|(pair, device)| turned(pair, device)).collect()
    }
}

/// What a regression does, in words.
fn status(kept: &Regression, op: &'static Op, observations: &[Observation]) -> String {
    let own = kept.signature.as_ref().map(Signature::on_one_device);
    let found = judge(&Evidence::new(op, &kept.case, observations)).signatures(op.name);
    match found.first() {
        None => "passes".to_string(),
        Some(_) if own.as_ref().is_some_and(|own| found.contains(own)) => "fails".to_string(),
        Some(other) => format!("fails with {other}"),
    }
}
