//! A finding with what its stored observations say about it today: its dtype, and the devices that show it.

use super::mark::Mark;
use crate::device::Device;
use crate::findings::Finding;
use crate::ops;
use crate::oracle::{Evidence, ORACLES, Observation, Signature, Verdict};
use crate::outcome::Outcome;

/// A finding and its place in the matrix.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The name under which it is stored.
    pub name: &'a str,
    /// The finding.
    pub finding: &'a Finding,
    /// Its case with what is promised, where this build has the op.
    pub evidence: Option<Evidence<'a>>,
    /// The main dtype of its case; `none` where the case has none.
    pub dtype: &'static str,
    /// The devices that show it.
    pub devices: Vec<Device>,
    /// How bad it is.
    pub mark: Mark,
}

impl<'a> Entry<'a> {
    /// The finding that is stored under `name`.
    pub fn new(name: &'a str, finding: &'a Finding) -> Self {
        let case = &finding.case;
        let evidence = ops::find(&case.op).map(|op| Evidence::new(op, case, &finding.observations));
        let first = || case.inputs.values().next().map(|tensor| tensor.dtype);
        let dtype = evidence.as_ref().map_or_else(first, |evidence| evidence.op.dtype(case));
        let mark = Mark::of(&finding.signature);
        let mut devices = match (mark, &evidence) {
            // The violation names the device that was compared with the first; what matters is which of them refuses.
            (Mark::Single, _) => seen_on(finding, |seen| matches!(seen.outcome, Outcome::Rejected(_))),
            (_, Some(evidence)) => seen_on(finding, |seen| shows(evidence, seen, &finding.signature)),
            (_, None) => Vec::new(),
        };
        if devices.is_empty() {
            devices.push(finding.violation.device);
        }
        Self { name, finding, evidence, dtype: dtype.map_or("none", crate::tensor::DType::name), devices, mark }
    }

    /// The part of the op's name before the dot.
    pub fn family(&self) -> &'a str {
        family(&self.finding.signature.op)
    }

    /// The path of its page.
    pub fn path(&self) -> String {
        format!("finding/{}.html", self.name)
    }
}

/// The part of an op's name before the dot.
pub fn family(op: &str) -> &str {
    op.split('.').next().unwrap_or(op)
}

fn seen_on(finding: &Finding, wanted: impl Fn(&Observation) -> bool) -> Vec<Device> {
    finding.observations.iter().filter(|seen| wanted(seen)).map(|seen| seen.device).collect()
}

/// Whether what was `seen` breaks the same promise in the same way.
fn shows(evidence: &Evidence, seen: &Observation, signature: &Signature) -> bool {
    let oracles = ORACLES.iter().filter(|oracle| oracle.name == signature.oracle);
    oracles
        .map(|oracle| (oracle.judge)(evidence, seen))
        .any(|verdict| matches!(verdict, Verdict::Fail(violation) if violation.kind == signature.kind))
}
