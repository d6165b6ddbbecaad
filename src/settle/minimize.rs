//! Makes a case simpler while it fails in the same way: shapes first, then views, dtypes, params, labels and values.
//!
//! Every candidate is strictly simpler in [`Case::complexity`]'s total order, so that the minimizer terminates, never
//! grows a case, and gives the same result for the same predicate. Whether a candidate fails *in the same way* is the
//! caller's question; what it meets on the way and how long it may take are the caller's too.

mod coupled_passes;
mod passes;

use std::collections::HashSet;

use crate::case::Case;

/// One kind of simplification.
#[derive(Debug)]
struct Pass {
    /// What it simplifies, for statistics.
    name: &'static str,
    /// Simpler cases, the boldest first.
    candidates: fn(&Case) -> Vec<Case>,
}

/// Every pass, in the order in which they are tried.
static PASSES: &[Pass] = &[
    Pass { name: "steps", candidates: passes::steps },
    Pass { name: "sizes", candidates: passes::sizes },
    Pass { name: "dims", candidates: passes::dims },
    Pass { name: "ranks", candidates: passes::ranks },
    Pass { name: "inputs", candidates: passes::inputs },
    Pass { name: "entries", candidates: coupled_passes::entries },
    Pass { name: "sides", candidates: coupled_passes::sides },
    Pass { name: "views", candidates: passes::views },
    Pass { name: "other views", candidates: coupled_passes::views },
    Pass { name: "dtypes", candidates: passes::dtypes },
    Pass { name: "backward", candidates: passes::backward },
    Pass { name: "params", candidates: passes::params },
    Pass { name: "params' values", candidates: coupled_passes::values },
    Pass { name: "fills", candidates: passes::fills },
    Pass { name: "values", candidates: passes::values },
];

/// A minimized case and what it took.
#[derive(Debug, Clone)]
pub struct Minimized {
    /// The simplest failing case found.
    pub case: Case,
    /// How many candidates were tried.
    pub attempts: usize,
    /// How many candidates of each pass failed as wanted.
    pub accepted: Vec<(&'static str, usize)>,
    /// Whether no pass can simplify it further; false where `fails` gave up.
    pub finished: bool,
}

/// Simplifies `case` while `fails` says that a candidate fails in the same way. `fails` returns `Ok(None)` to give up.
pub fn minimize<E>(case: Case, mut fails: impl FnMut(&Case) -> Result<Option<bool>, E>) -> Result<Minimized, E> {
    let mut tried = HashSet::new();
    let mut best = Minimized { case, attempts: 0, accepted: Vec::new(), finished: false };
    let mut counts = vec![0; PASSES.len()];
    let mut progress = true;
    'passes: while progress {
        progress = false;
        for (pass, count) in PASSES.iter().zip(&mut counts) {
            'candidates: loop {
                for candidate in simpler(&best.case, pass) {
                    if !tried.insert(candidate.clone()) {
                        continue;
                    }
                    best.attempts += 1;
                    match fails(&candidate)? {
                        None => break 'passes,
                        Some(false) => {}
                        Some(true) => {
                            best.case = candidate;
                            *count += 1;
                            progress = true;
                            continue 'candidates;
                        }
                    }
                }
                break;
            }
        }
    }
    best.finished = !progress;
    best.accepted = PASSES.iter().zip(counts).map(|(pass, count)| (pass.name, count)).collect();
    Ok(best)
}

fn simpler(case: &Case, pass: &Pass) -> Vec<Case> {
    let complexity = case.complexity();
    let mut candidates = (pass.candidates)(case);
    candidates.retain(|candidate| candidate.complexity() < complexity && candidate.check().is_ok());
    candidates
}
