//! The minimizer's predicate: does a candidate fail under the same signature, or a plainer one?

use std::time::Instant;

use super::Settings;
use super::minimize::{Minimized, minimize};
use super::promise;
use crate::case::Case;
use crate::examine::{Patience, examine};
use crate::exec::Executor;
use crate::ops::{Contract, Op};
use crate::oracle::Signature;

/// A candidate that hangs takes a whole short deadline and a worker, and so hundreds of times as long as others. A search ends after
/// so many: then the case is small enough for a person, if it is not minimal.
const LATE: usize = 40;

/// A minimization under one signature. Collects the other failures that it comes across.
#[derive(Debug)]
pub struct Search<'a> {
    op: &'static Op,
    /// The signature of the simplest case so far. It becomes plainer when a case fails without something that it names.
    signature: Signature,
    settings: &'a Settings,
    /// The contract of the simplest case so far. Candidates must keep what it promises.
    contract: Contract,
    started: Instant,
    attempts: usize,
    /// How many candidates were late.
    late: usize,
    other_failures: Vec<(Case, Signature)>,
}

impl<'a> Search<'a> {
    /// A search for simpler cases than `case`, which fails under `signature`.
    pub fn new(op: &'static Op, case: &Case, signature: &Signature, settings: &'a Settings) -> Self {
        let (contract, signature) = (op.contract(case), signature.clone());
        Self {
            op,
            signature,
            settings,
            contract,
            started: Instant::now(),
            attempts: 0,
            late: 0,
            other_failures: Vec::new(),
        }
    }

    /// Minimizes `case`, which fails under `signature`. Returns the signature of the result, too.
    pub(super) fn run(
        &mut self,
        executor: &mut Executor,
        case: Case,
        signature: &Signature,
        patience: Patience,
    ) -> anyhow::Result<(Minimized, Signature)> {
        self.signature = signature.clone();
        (self.contract, self.late) = (self.op.contract(&case), 0);
        let minimized = minimize(case, |candidate| self.fails(executor, candidate, patience))?;
        Ok((minimized, self.signature.clone()))
    }

    /// Whether `candidate` keeps the promise and fails under the signature or a plainer one; `None` once the time or the attempts are used up.
    pub fn fails(
        &mut self,
        executor: &mut Executor,
        candidate: &Case,
        patience: Patience,
    ) -> anyhow::Result<Option<bool>> {
        self.attempts += 1;
        let is_over = self.attempts > self.settings.attempts || self.late >= LATE;
        if is_over || self.started.elapsed() > self.settings.time {
            return Ok(None);
        }
        let contract = self.op.contract(candidate);
        if self.op.check(candidate).is_err() || !promise::keeps(&self.contract, &contract) {
            return Ok(Some(false));
        }
        let examined = examine(executor, self.op, candidate, patience)?;
        self.late += usize::from(examined.is_late());
        let found = examined.verdict.signatures(self.op.name);
        let same = found.iter().find(|other| **other == self.signature);
        let same = same.or_else(|| found.iter().find(|other| other.covers(&self.signature))).cloned();
        let current = same.as_ref().unwrap_or(&self.signature);
        for other in found.into_iter().filter(|other| !current.covers(other)) {
            if self.other_failures.iter().all(|(_, known)| *known != other) {
                self.other_failures.push((candidate.clone(), other));
            }
        }
        let fails = same.is_some();
        if let Some(same) = same {
            (self.signature, self.contract) = (same, contract);
        }
        Ok(Some(fails))
    }

    pub(super) fn into_other_failures(self) -> Vec<(Case, Signature)> {
        self.other_failures
    }
}
