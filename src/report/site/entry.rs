//! A finding with its dtype, devices, rank and explanation, from its stored observations.

use serde::Serialize;

use super::mark::{Look, Mark};
use crate::causes::{Explanation, KnownFailures};
use crate::device::Device;
use crate::ops;
use crate::oracle::{Evidence, Kind, Rank};
use crate::outcome::{Observation, Outcome};
use crate::report::words;
use crate::store::Finding;

/// A finding and its place in the matrix.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The name under which it is stored.
    pub name: &'a str,
    /// The finding.
    pub finding: &'a Finding,
    /// Its case and contract, if this build has the op.
    pub evidence: Option<Evidence<'a>>,
    /// The main dtype of its case; `none` if it has none.
    pub dtype: &'static str,
    /// The devices that show it.
    pub devices: Vec<Device>,
    /// How bad it is.
    pub rank: Rank,
    /// Who explains it.
    pub explanation: Explanation<'a>,
}

/// A finding in a line, which links to its page.
#[derive(Debug, Serialize)]
pub struct Line<'a> {
    mark: Look,
    name: &'a str,
    sentence: String,
}

impl<'a> Entry<'a> {
    /// The finding stored under `name`, explained by what is `known`.
    pub fn new(name: &'a str, finding: &'a Finding, known: &'a KnownFailures) -> Self {
        let case = &finding.case;
        let evidence = ops::find(&case.op).map(|op| Evidence::new(op, case, &finding.observations));
        let first = || case.inputs.values().next().map(|tensor| tensor.dtype);
        let dtype = evidence.as_ref().map_or_else(first, |evidence| evidence.op.dtype(case));
        // The violation names the second device of the comparison; the finding belongs to the one that refuses.
        let refuses = |seen: &&Observation| matches!(seen.outcome, Outcome::Rejected(_));
        let refusing = || finding.observations.iter().filter(refuses).map(|seen| seen.device).collect::<Vec<_>>();
        let one_accepts = finding.signature.kind == Kind::OnlyOneAccepts;
        let devices = Some(refusing()).filter(|devices| one_accepts && !devices.is_empty());
        let devices = devices.unwrap_or_else(|| finding.devices());
        let (dtype, explanation) = (dtype.map_or("none", crate::tensor::DType::name), known.explain(finding));
        Self { name, finding, evidence, dtype, devices, rank: finding.signature.rank(), explanation }
    }

    /// Its mark.
    pub fn mark(&self) -> Mark {
        Mark::Found(self.rank)
    }

    /// It in a line.
    pub fn line(&self) -> Line<'a> {
        Line { mark: self.mark().look(), name: self.name, sentence: words::sentence(&self.finding.signature) }
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
