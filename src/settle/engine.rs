//! Settles one failure of any kind: its plain form, the simplest case that shows it, and a proof.

use super::minimize::Minimized;
use super::problem::{Effort, Failure, Problem};
use super::search::{Budget, Search};
use crate::case::Case;
use crate::examine::Patience;
use crate::ops::{Op, own};
use crate::tensor::{DType, Tensor, Value, cast};

/// The simplest case that was found, and what it shows.
#[derive(Debug)]
pub struct Simplest<P: Problem> {
    /// The case, and how it was found.
    pub minimized: Minimized,
    /// The failure. It may be plainer than the one that was settled.
    pub failure: P::Failure,
    /// The proof; `None` if the failure does not show in a new process.
    pub proof: Option<P::Proof>,
    /// Other failures that the minimizer came across, with one case each.
    pub others: Vec<(Case, P::Failure)>,
}

/// Minimizes `case`, which fails with `failure`, and proves the result.
pub fn simplest<P: Problem>(
    problem: &mut P,
    op: &'static Op,
    case: Case,
    failure: &P::Failure,
    budget: Budget,
) -> anyhow::Result<Simplest<P>> {
    let mut search = Search::new(op, &case, failure, budget);
    let (mut minimized, mut plainest) = search.run(problem, case.clone(), failure, Patience::Short)?;
    let effort = if search.was_late() { Effort::One } else { Effort::All };
    let mut proof = problem.prove(op, &minimized.case, &plainest, effort)?;
    if proof.is_none() && search.was_late() {
        // The short deadline can mistake a slow case for a hang: minimize again with the full one.
        (minimized, plainest) = search.run(problem, case, failure, Patience::Full)?;
        proof = problem.prove(op, &minimized.case, &plainest, Effort::All)?;
    }
    Ok(Simplest { minimized, failure: plainest, proof, others: search.into_others() })
}

/// What a case may do without, in the order in which it is tried: `f32` in place of other floats, and ones in place of NaN and
/// infinities.
static PLAINER: [fn(&mut Tensor); 2] = [
    |tensor| {
        if tensor.dtype.is_float() {
            *tensor = cast(tensor, DType::F32);
        }
    },
    |tensor| {
        let one = Value::of(tensor.dtype, 1.0);
        tensor
            .values
            .listed_mut()
            .into_iter()
            .filter(|value| !value.as_f64().is_finite())
            .for_each(|value| *value = one);
    },
];

/// The plain form of a failure: in `f32` instead of another float dtype, and with finite values, if the case fails there, too.
/// Otherwise one cause would be filed several times.
pub fn plainest<P: Problem>(
    problem: &mut P,
    op: &'static Op,
    mut case: Case,
    mut failure: P::Failure,
) -> anyhow::Result<(Case, P::Failure)> {
    for plainer in PLAINER {
        let mut simpler = case.clone();
        simpler.inputs.values_mut().for_each(plainer);
        if simpler == case
            || !own::has_a_caller(&simpler)
            || !problem.keeps(&op.contract(&case), &op.contract(&simpler))
        {
            continue;
        }
        let found = problem.failures(op, &simpler, Patience::Full)?.failures;
        if let Some(plain) = failure.plain_form(&found) {
            (case, failure) = (simpler, plain.clone());
        }
    }
    Ok((case, failure))
}
