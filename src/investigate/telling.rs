//! Makes a minimized case telling for a report. The minimizer ends at sizes of 1, equal values and a plain sum as the loss, which may hide
//! what is wrong: the gradient of `softmax([0.]).sum()` is 0 in any case. So each is made natural where the case still fails in the same
//! way.

use std::collections::BTreeSet;
use std::mem::discriminant;

use crate::case::{Backward, Case};
use crate::causes::{RootCause, Sighting};
use crate::device::Device;
use crate::examine::{BadId, Patience, violations};
use crate::exec::{Deadline, Executor, Limits};
use crate::generate::with_sizes;
use crate::ops::{self, Contract, Op};
use crate::oracle::{Evidence, Rank, Signature, Verdict, Violation, judge};
use crate::store::Finding;
use crate::tensor::{Tensor, Value, Values, resized};

/// The size of a dimension that was 1, and the number of classes or rows that a bad id misses.
const NATURAL: [usize; 2] = [2, 3];

/// Values that nothing makes equal by chance.
const DISTINCT: [f64; 12] = [1.0, -0.5, 2.0, 0.25, -1.5, 3.0, 0.75, -2.0, 1.25, -0.25, 2.5, -1.0];

/// `finding` with a telling case; as it is, if nothing can be made more natural. Larger sizes may meet another bug. So the case fails in no
/// other way, and none of `causes` explains it that does not explain the finding.
pub fn telling(finding: &Finding, causes: &[RootCause], limits: Limits) -> anyhow::Result<Finding> {
    // A costly call is one of its size, whatever the values.
    let op = ops::find(&finding.case.op).filter(|_| finding.signature.rank() != Rank::Cost);
    let Some(op) = op else { return Ok(finding.clone()) };
    let devices: Vec<Device> = finding.observations.iter().map(|seen| seen.device).collect();
    let own = match judge(&Evidence::new(op, &finding.case, &finding.observations)) {
        Verdict::Fail(all) => all.iter().map(|violation| violation.signature(op.name)).collect(),
        _ => Vec::new(),
    };
    let mut search = Search { executor: Executor::start(&devices, &limits.into())?, op, finding, own, causes };
    let mut case = finding.case.clone();
    for step in [weighted, classes, sizes, values] {
        case = search.boldest(case, step)?;
    }
    while let Some(wider) = search.wider(&case)? {
        case = wider;
    }
    case = search.boldest(case, counted)?;
    if case == finding.case {
        return Ok(finding.clone());
    }
    let observations = search.executor.observe(&case, Deadline::Full)?;
    let Verdict::Fail(all) = judge(&Evidence::new(op, &case, &observations)) else { return Ok(finding.clone()) };
    let violation = all.into_iter().find(|violation| search.is_it(violation));
    Ok(violation
        .map_or_else(|| finding.clone(), |violation| Finding { violation, case, observations, ..finding.clone() }))
}

/// Candidates for a more natural case.
type Step = fn(&Op, &Case) -> Vec<Case>;

struct Search<'a> {
    executor: Executor,
    op: &'static Op,
    finding: &'a Finding,
    /// All ways in which the finding's case fails.
    own: Vec<Signature>,
    causes: &'a [RootCause],
}

impl Search<'_> {
    fn is_it(&self, violation: &Violation) -> bool {
        violation.signature(self.op.name) == self.finding.signature
    }

    /// Whether `candidate` promises as much as the finding's case and fails in the same way.
    fn fails(&mut self, candidate: &Case) -> anyhow::Result<bool> {
        let (own, other) = (self.op.contract(&self.finding.case), self.op.contract(candidate));
        let is_alike = match (&own, &other) {
            (Contract::Rejects(rule), Contract::Rejects(other)) => rule == other,
            _ => discriminant(&own) == discriminant(&other),
        };
        if !is_alike || candidate.check().is_err() || self.op.check(candidate).is_err() {
            return Ok(false);
        }
        let found = violations(&mut self.executor, self.op, candidate, Patience::Full)?;
        Ok(found.iter().any(|violation| self.is_it(violation))
            && !found.iter().any(|violation| self.is_new(candidate, violation))
            && self.explaining(candidate, &self.finding.signature).is_subset(&self.own_causes()))
    }

    /// The first candidate of `step` that fails in the same way, the boldest first; else `case`.
    fn boldest(&mut self, case: Case, step: Step) -> anyhow::Result<Case> {
        for candidate in step(self.op, &case) {
            if self.fails(&candidate)? {
                return Ok(candidate);
            }
        }
        Ok(case)
    }

    /// True if this failure of `candidate` is not one of the finding's, and has another cause.
    fn is_new(&self, candidate: &Case, violation: &Violation) -> bool {
        let signature = violation.signature(self.op.name);
        !self.own.iter().any(|own| own.is_alike(&signature))
            && self.explaining(candidate, &signature).is_disjoint(&self.own_causes())
    }

    /// The causes that explain the finding.
    fn own_causes(&self) -> BTreeSet<&str> {
        self.explaining(&self.finding.case, &self.finding.signature)
    }

    /// The causes that explain this failure of `case`.
    fn explaining(&self, case: &Case, signature: &Signature) -> BTreeSet<&str> {
        let sighting = Sighting { signature, case, ..Sighting::of(self.finding) };
        self.causes.iter().filter(|cause| cause.is_shown_by(&sighting)).map(|cause| cause.name.as_str()).collect()
    }

    /// `case` with a dimension of size 1 wider that can be wider by itself.
    fn wider(&mut self, case: &Case) -> anyhow::Result<Option<Case>> {
        for (name, tensor) in &case.inputs {
            for dim in (0..tensor.shape.len()).filter(|dim| tensor.shape[*dim] == 1) {
                let mut shape = tensor.shape.clone();
                shape[dim] = NATURAL[0];
                let mut candidate = case.clone().input(name, distinct(resized(tensor, shape)));
                candidate.repair_shared();
                if self.fails(&candidate)? {
                    return Ok(Some(candidate));
                }
            }
        }
        Ok(None)
    }
}

/// A loss in which every element has its own weight, and no second derivative.
fn weighted(_: &Op, case: &Case) -> Vec<Case> {
    let is_other = matches!(case.backward, Backward::Sum | Backward::Twice);
    is_other.then(|| Case { backward: Backward::Weighted, ..case.clone() }).into_iter().collect()
}

/// More classes, or rows, for a bad id, which stays outside of them.
fn classes(op: &Op, case: &Case) -> Vec<Case> {
    let Some(bad) = BadId::find(op, case) else { return Vec::new() };
    let more = NATURAL.into_iter().rev().filter(|size| *size > bad.size);
    more.filter_map(|size| bad.with_size(case, size)).collect()
}

/// All sizes of 1 at once.
fn sizes(op: &Op, case: &Case) -> Vec<Case> {
    let kept = BadId::find(op, case);
    let with = |size: usize| {
        let mut wider = with_sizes(case, &[(1, size)]);
        if let Some(table) = kept.as_ref().and_then(|bad| wider.inputs.get_mut(&bad.of)) {
            // One of as many classes as before.
            let (bad, mut shape) = (kept.as_ref().expect("a bad id"), table.shape.clone());
            shape[bad.dim] = bad.size;
            *table = resized(table, shape);
        }
        wider.repair_shared();
        wider
    };
    NATURAL.map(with).into_iter().filter(|wider| wider != case).collect()
}

/// Values that differ, in all inputs of floats, or in one.
fn values(_: &Op, case: &Case) -> Vec<Case> {
    everywhere_or_once(case, distinct)
}

/// Numbers that a person would type, in all inputs of floats, or in one.
fn counted(_: &Op, case: &Case) -> Vec<Case> {
    everywhere_or_once(case, counting)
}

/// `case` with the changed form of all its inputs, or of one.
fn everywhere_or_once(case: &Case, changed: fn(Tensor) -> Tensor) -> Vec<Case> {
    let mut all = case.clone();
    all.inputs.values_mut().for_each(|tensor| *tensor = changed(tensor.clone()));
    let one = |(name, tensor): (&String, &Tensor)| case.clone().input(name, changed(tensor.clone()));
    let each = case.inputs.iter().map(one).collect::<Vec<_>>();
    let candidates = std::iter::once(all).chain(each).map(|mut candidate| {
        candidate.repair_shared();
        candidate
    });
    candidates.filter(|candidate| candidate != case).collect()
}

/// The tensor with the values 1, 2, 3 …, if it has few, and floats.
fn counting(tensor: Tensor) -> Tensor {
    const FEW: usize = 24;
    let Some(count) = tensor.stored().filter(|count| (1..=FEW).contains(count)) else { return tensor };
    if !tensor.dtype.is_float() {
        return tensor;
    }
    let values = (1..=count).map(|number| Value::of(tensor.dtype, number as f64)).collect();
    Tensor { values: Values::List(values), ..tensor }
}

/// The tensor with values that differ, if it has few, and floats, of which all but zeros are the same.
fn distinct(tensor: Tensor) -> Tensor {
    let Some(count) = tensor.stored().filter(|count| (2..=DISTINCT.len()).contains(count)) else { return tensor };
    let now = tensor.values.to_vec(count);
    let mut others = now.iter().filter(|value| value.as_f64() != 0.0);
    let first = others.next();
    if !tensor.dtype.is_float() || others.any(|value| Some(value) != first) {
        return tensor;
    }
    let values = DISTINCT[..count].iter().map(|value| Value::of(tensor.dtype, *value)).collect();
    Tensor { values: Values::List(values), ..tensor }
}
