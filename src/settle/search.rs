//! The minimizer's predicate: does a candidate fail in the same way, or in a plainer one?

use std::time::{Duration, Instant};

use super::minimize::{Minimized, minimize};
use super::problem::{Failure, Problem};
use crate::case::Case;
use crate::examine::Patience;
use crate::ops::{Contract, Op, own};

/// A candidate that hangs takes a whole short deadline and a worker, and so hundreds of times as long as others. A search ends after
/// this many: then the case is small enough for a person, if it is not minimal.
const LATE: usize = 12;

/// How much a search may take.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// How long.
    pub time: Duration,
    /// How many candidates.
    pub attempts: usize,
}

/// A minimization under one failure. Collects the other failures that it comes across.
#[derive(Debug)]
pub struct Search<F> {
    op: &'static Op,
    /// How the simplest case so far fails. It becomes plainer when a case fails without something that it names.
    failure: F,
    /// The contract of the simplest case so far. Candidates must keep what it promises.
    contract: Contract,
    budget: Budget,
    started: Instant,
    attempts: usize,
    /// How many candidates were late.
    late: usize,
    others: Vec<(Case, F)>,
}

impl<F: Failure> Search<F> {
    /// A search for simpler cases than `case`, which fails with `failure`.
    pub fn new(op: &'static Op, case: &Case, failure: &F, budget: Budget) -> Self {
        let (contract, failure) = (op.contract(case), failure.clone());
        let started = Instant::now();
        Self { op, failure, contract, budget, started, attempts: 0, late: 0, others: Vec::new() }
    }

    /// Minimizes `case`, which fails with `failure`. Returns the failure of the result, too.
    pub(super) fn run<P: Problem<Failure = F>>(
        &mut self,
        problem: &mut P,
        case: Case,
        failure: &F,
        patience: Patience,
    ) -> anyhow::Result<(Minimized, F)> {
        (self.failure, self.contract, self.late) = (failure.clone(), self.op.contract(&case), 0);
        let minimized = minimize(case, |candidate| self.fails(problem, candidate, patience))?;
        Ok((minimized, self.failure.clone()))
    }

    /// Whether `candidate` keeps the promise and fails in the same way or a plainer one; `None` once the budget is used up.
    pub fn fails<P: Problem<Failure = F>>(
        &mut self,
        problem: &mut P,
        candidate: &Case,
        patience: Patience,
    ) -> anyhow::Result<Option<bool>> {
        self.attempts += 1;
        let is_over = self.attempts > self.budget.attempts || self.started.elapsed() > self.budget.time;
        if is_over || self.late >= LATE || problem.is_stopped() {
            return Ok(None);
        }
        let contract = self.op.contract(candidate);
        let may_be = self.op.check(candidate).is_ok() && own::has_a_caller(candidate);
        if !may_be || !problem.keeps(&self.contract, &contract) {
            return Ok(Some(false));
        }
        let seen = problem.failures(self.op, candidate, patience)?;
        self.late += usize::from(seen.is_late);
        let found = &seen.failures;
        let same = found.iter().find(|other| other.is_same(&self.failure));
        let same = same.or_else(|| found.iter().find(|other| other.covers(&self.failure))).cloned();
        let fails = same.is_some();
        if let Some(same) = same {
            (self.failure, self.contract) = (same, contract);
        }
        for other in seen.failures.into_iter().filter(|other| !self.failure.covers(other)) {
            if self.others.iter().all(|(_, known)| !known.is_same(&other)) {
                self.others.push((candidate.clone(), other));
            }
        }
        Ok(Some(fails))
    }

    /// Whether a candidate of the last run was late.
    pub(super) fn was_late(&self) -> bool {
        self.late > 0
    }

    pub(super) fn into_others(self) -> Vec<(Case, F)> {
        self.others
    }
}
