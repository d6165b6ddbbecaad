//! The minimizer's predicate: does a candidate fail under the same signature?

use std::mem::{Discriminant, discriminant};
use std::time::Instant;

use super::Settings;
use super::minimize::{Minimized, minimize};
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
    /// Candidates must keep the kind of contract: a fault on a valid input is worth more than one on an unspecified input.
    contract: Discriminant<Contract>,
    started: Instant,
    attempts: usize,
    other_failures: Vec<(Case, Signature)>,
}

impl<'a> Search<'a> {
    /// A search that starts from `case`, which fails under `signature`.
    pub fn new(op: &'static Op, case: &Case, signature: &'a Signature, settings: &'a Settings) -> Self {
        let contract = discriminant(&(op.contract)(case));
        Self { op, signature, settings, contract, started: Instant::now(), attempts: 0, other_failures: Vec::new() }
    }

    pub(super) fn run(&mut self, executor: &mut Executor, case: Case, patience: Patience) -> anyhow::Result<Minimized> {
        minimize(case, |candidate| self.fails(executor, candidate, patience))
    }

    /// Whether `candidate` fails under the signature; `None` once the time or the attempts are used up.
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
        if self.op.check(candidate).is_err() || discriminant(&(self.op.contract)(candidate)) != self.contract {
            return Ok(Some(false));
        }
        let Some(violation) = violation(executor, self.op, candidate, patience)? else { return Ok(Some(false)) };
        let other = violation.signature(self.op.name);
        if other == *self.signature {
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
