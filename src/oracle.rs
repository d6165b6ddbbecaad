//! Oracles decide whether the observations of a case satisfy its contract. They never execute, print or touch the disk, so a
//! verdict can be recomputed from a case and its stored observations.

mod agreement;
mod change;
mod checker;
mod compare;
mod contract;
mod cost;
mod derivative;
mod determinism;
mod documentation;
mod expectation;
mod fault;
mod functions;
mod gradient;
mod invariant;
mod kind;
mod layout;
mod needs;
mod rank;
mod reference;
mod samples;
mod second;
mod siblings;
mod signature;
mod site;
mod slack;
mod training;
mod verdict;

use std::cell::OnceCell;

use ndarray::ArrayD;
use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::device::Device;
use crate::number::Num;
use crate::ops::{Contract, Op, ReferenceInputs, has_rivals, why};
use crate::outcome::Observation;
use crate::tensor::elements;

pub use change::{Change, Class, Spent, changes, costlier};
pub use expectation::Expectation;
pub use functions::Functions;
pub use kind::{Kind, OracleName};
pub use needs::{Need, Needs};
pub use rank::Rank;
pub use signature::Signature;
pub use site::{SiblingDoes, Site, Spot};
pub use verdict::{Verdict, judge, judge_costs, judge_on};

/// Everything that an oracle may use.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// The op.
    pub op: &'static Op,
    /// The case.
    pub case: &'a Case,
    /// The contract of the case.
    pub contract: Contract,
    /// The observation on each device.
    pub observations: &'a [Observation],
    expected: OnceCell<Option<Vec<ArrayD<Num>>>>,
}

impl<'a> Evidence<'a> {
    /// The evidence on `case`.
    pub fn new(op: &'static Op, case: &'a Case, observations: &'a [Observation]) -> Self {
        Self { op, case, contract: op.contract(case), observations, expected: OnceCell::new() }
    }

    /// Whether candle supports the case's dtype for the op on this device.
    pub fn supported(&self, device: Device) -> bool {
        self.op.supports(self.case, device)
    }

    /// The outputs of the reference, if the contract accepts the case and the op has a reference.
    pub fn expected(&self) -> Option<&[ArrayD<Num>]> {
        let compute = || match (self.op.reference(), &self.contract) {
            (Some(reference), Contract::Accepts { outputs, .. })
                if outputs.iter().all(|(_, shape)| elements(shape).is_ok()) =>
            {
                // A step may have no reference.
                Some(reference(&ReferenceInputs::new(self.case))).filter(|outputs| !outputs.is_empty())
            }
            _ => None,
        };
        self.expected.get_or_init(compute).as_deref()
    }

    /// Whether a rounding, a race or an order that is open decides the values, so that two results that differ may both be right.
    fn is_open(&self) -> bool {
        let open = [why::UNKNOWN_INTEGERS, why::NO_SCALE, why::HUGE].map(Contract::Unspecified);
        has_rivals(self.case) || open.contains(&self.contract)
    }

    /// Whether any float input of the case has a value for which `predicate` is true.
    fn any_value(&self, predicate: impl Fn(f64) -> bool) -> bool {
        let floats = self.case.inputs.values().filter(|tensor| tensor.dtype.is_float());
        floats.flat_map(|tensor| tensor.values.listed()).any(|value| predicate(value.as_f64()))
    }
}

/// Which promise candle broke, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "KeptViolation")]
pub struct Violation {
    /// The oracle that detected it.
    pub oracle: OracleName,
    /// How the promise broke.
    pub kind: Kind,
    /// Where.
    pub site: Site,
    /// On which device.
    pub device: Device,
    /// The other devices that break the same promise in the same way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also_on: Vec<Device>,
    /// The expected and the actual result, for people.
    pub detail: String,
}

/// A violation as it is kept: its site is read by its oracle and kind.
#[derive(Deserialize)]
struct KeptViolation {
    oracle: OracleName,
    kind: Kind,
    site: String,
    device: Device,
    #[serde(default)]
    also_on: Vec<Device>,
    detail: String,
}

impl From<KeptViolation> for Violation {
    fn from(kept: KeptViolation) -> Self {
        let KeptViolation { oracle, kind, site, device, also_on, detail } = kept;
        let site = Site::parse(oracle, &kind, &site);
        Self { oracle, kind, site, device, also_on, detail }
    }
}

impl Violation {
    /// The signature of this violation by a case of `op`.
    pub fn signature(&self, op: &str) -> Signature {
        Signature { op: op.into(), oracle: self.oracle, kind: self.kind.clone(), site: self.site.clone() }
    }

    /// The devices that show it.
    pub fn devices(&self) -> impl Iterator<Item = Device> + '_ {
        std::iter::once(self.device).chain(self.also_on.iter().copied())
    }
}

/// One oracle.
#[derive(Debug)]
pub struct Oracle {
    /// The name in signatures and statistics.
    pub name: OracleName,
    /// Judges the observation on one device.
    pub judge: fn(&Evidence, &Observation) -> Verdict,
}

/// Every oracle, in order of authority: the first that fails names the main violation.
pub static ORACLES: &[Oracle] = &[
    Oracle { name: OracleName::Contract, judge: contract::judge },
    Oracle { name: OracleName::Fault, judge: fault::judge },
    Oracle { name: OracleName::Checker, judge: checker::judge },
    Oracle { name: OracleName::Reference, judge: reference::judge },
    Oracle { name: OracleName::Invariant, judge: invariant::judge },
    Oracle { name: OracleName::Gradient, judge: gradient::judge },
    Oracle { name: OracleName::SecondDerivative, judge: second::judge },
    Oracle { name: OracleName::Layout, judge: layout::judge },
    Oracle { name: OracleName::Agreement, judge: agreement::judge },
    Oracle { name: OracleName::Siblings, judge: siblings::judge },
    Oracle { name: OracleName::Samples, judge: samples::judge },
    Oracle { name: OracleName::Training, judge: training::judge },
    Oracle { name: OracleName::Determinism, judge: determinism::judge },
    Oracle { name: OracleName::Documentation, judge: documentation::judge },
    Oracle { name: OracleName::Cost, judge: cost::judge },
];

/// A violation detected by `oracle`, on the device of `observation`.
fn violation(oracle: OracleName, kind: Kind, site: Site, observation: &Observation, detail: String) -> Violation {
    let site = site.into_kept(oracle, &kind);
    Violation { oracle, kind, site, device: observation.device, also_on: Vec::new(), detail }
}

/// The verdict of an oracle that detected one violation.
fn fail(oracle: OracleName, kind: Kind, site: Site, observation: &Observation, detail: String) -> Verdict {
    Verdict::Fail(vec![violation(oracle, kind, site, observation, detail)])
}
