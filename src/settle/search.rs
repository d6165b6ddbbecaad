//! The minimizer's predicate: does a candidate fail under the same signature?

use std::time::Instant;

use super::Settings;
use super::minimize::{Minimized, minimize};
use super::promise;
use crate::case::Case;
use crate::examine::{Patience, violation};
use crate::exec::Executor;
use crate::ops::{Contract, Op};
use crate::oracle::Signature;

/// A minimization under one signature. Collects the other failures that it comes across.
#[derive(Debug)]
pub struct Search<'a> {
    op: &'static Op,
    signature: &'a Signature,
    settings: &'a Settings,
    /// The contract of the simplest case so far. Candidates must keep what it promises.
    contract: Contract,
    started: Instant,
    attempts: usize,
    other_failures: Vec<(Case, Signature)>,
}

impl<'a> Search<'a> {
    /// A search for simpler cases than `case`, which fails under `signature`.
    pub fn new(op: &'static Op, case: &Case, signature: &'a Signature, settings: &'a Settings) -> Self {
        let contract = (op.contract)(case);
        Self { op, signature, settings, contract, started: Instant::now(), attempts: 0, other_failures: Vec::new() }
    }

    pub(super) fn run(&mut self, executor: &mut Executor, case: Case, patience: Patience) -> anyhow::Result<Minimized> {
        self.contract = (self.op.contract)(&case);
        minimize(case, |candidate| self.fails(executor, candidate, patience))
    }

    /// Whether `candidate` keeps the promise and fails under the signature; `None` once the time or the attempts are used up.
    pub fn fails(
        &mut self,
        executor: &mut Executor,
        candidate: &Case,
        patience: Patience,
    ) -> anyhow::Result<Option<bool>> {
        self.attempts += 1;
        if self.started.elapsed() > self.settings.time || self.attempts > self.settings.attempts {
            return Ok(None);
        }
        let contract = (self.op.contract)(candidate);
        if self.op.check(candidate).is_err() || !promise::keeps(&self.contract, &contract) {
            return Ok(Some(false));
        }
        let Some(violation) = violation(executor, self.op, candidate, patience)? else { return Ok(Some(false)) };
        let other = violation.signature(self.op.name);
        if other == *self.signature {
            self.contract = contract;
            return Ok(Some(true));
        }
        if self.other_failures.iter().all(|(_, known)| *known != other) {
            self.other_failures.push((candidate.clone(), other));
        }
        Ok(Some(false))
    }

    pub(super) fn into_other_failures(self) -> Vec<(Case, Signature)> {
        self.other_failures
    }
}
