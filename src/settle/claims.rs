//! The failures that the threads of a campaign settle or have settled, so that each is settled once.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::problem::Failure;

/// How often a failure is tried again that did not show in new processes, with another case each time.
const TRIES: u32 = 3;

/// The claimed failures of each op.
#[derive(Debug)]
pub struct Claims<F>(Mutex<BTreeMap<String, Vec<Claim<F>>>>);

#[derive(Debug)]
struct Claim<F> {
    failure: F,
    /// How often it did not show in new processes.
    misses: u32,
    /// Whether the next case may settle it.
    is_free: bool,
}

impl<F> Default for Claims<F> {
    fn default() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }
}

impl<F: Failure> Claims<F> {
    fn claims(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Claim<F>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims a failure of `op` for this thread, unless a claimed one explains it: returns that.
    pub fn claim(&self, op: &str, failure: &F) -> Option<F> {
        let mut all = self.claims();
        let own = all.entry(op.to_string()).or_default();
        if let Some(same) = own.iter_mut().find(|claim| claim.failure.is_same(failure)) {
            return (!std::mem::take(&mut same.is_free)).then(|| same.failure.clone());
        }
        if let Some(known) = own.iter().find(|claim| claim.misses == 0 && claim.failure.covers(failure)) {
            return Some(known.failure.clone());
        }
        own.push(Claim { failure: failure.clone(), misses: 0, is_free: false });
        None
    }

    /// Whether this very failure is claimed.
    pub fn has(&self, op: &str, failure: &F) -> bool {
        self.claims().get(op).is_some_and(|own| own.iter().any(|claim| claim.failure.is_same(failure)))
    }

    /// Ends the claim on a failure: the next case that shows it may settle it.
    pub fn release(&self, op: &str, failure: &F) {
        if let Some(own) = self.claims().get_mut(op) {
            own.retain(|claim| !claim.failure.is_same(failure));
        }
    }

    /// Ends the claim on a failure that did not show in new processes, unless that was often so.
    pub fn miss(&self, op: &str, failure: &F) {
        let mut all = self.claims();
        let mut own = all.get_mut(op).into_iter().flatten();
        if let Some(claim) = own.find(|claim| claim.failure.is_same(failure)) {
            claim.misses += 1;
            claim.is_free = claim.misses < TRIES;
        }
    }
}
