//! Makes a case simpler while it fails in the same way: shapes first, then views, dtypes, params, labels and values.
//!
//! Every candidate is strictly simpler in the total order of [`Case::complexity`], so the minimizer terminates, never grows a
//! case, and gives the same result for the same predicate. The caller decides whether a candidate fails *in the same way*,
//! what to do with other failures, and when to give up.

mod arguments;
mod coupled_passes;
mod edit;
mod elements;
mod shapes;

use std::collections::HashSet;

use crate::case::Case;

/// A kind of simplification.
#[derive(Debug)]
struct Pass {
    /// The name in statistics.
    name: &'static str,
    /// Lists simpler cases, the boldest first.
    candidates: fn(&Case) -> Vec<Case>,
}

/// Every pass, in the order in which they are tried.
static PASSES: &[Pass] = &[
    Pass { name: "steps", candidates: arguments::steps },
    Pass { name: "sizes", candidates: shapes::sizes },
    Pass { name: "empty sizes", candidates: coupled_passes::empty_sizes },
    Pass { name: "dims", candidates: shapes::dims },
    Pass { name: "ranks", candidates: shapes::ranks },
    Pass { name: "inputs", candidates: arguments::inputs },
    Pass { name: "entries", candidates: coupled_passes::entries },
    Pass { name: "sides", candidates: coupled_passes::sides },
    Pass { name: "views", candidates: arguments::views },
    Pass { name: "other views", candidates: coupled_passes::views },
    Pass { name: "dtypes", candidates: elements::dtypes },
    Pass { name: "backward", candidates: arguments::backward },
    Pass { name: "params", candidates: arguments::params },
    Pass { name: "params' values", candidates: coupled_passes::values },
    Pass { name: "fills", candidates: elements::fills },
    Pass { name: "values", candidates: elements::values },
];

/// A minimized case and its statistics.
#[derive(Debug, Clone)]
pub struct Minimized {
    /// The simplest failing case found.
    pub case: Case,
    /// How many candidates were tried.
    pub attempts: usize,
    /// How many candidates of each pass failed in the same way.
    pub accepted: Vec<(&'static str, usize)>,
    /// Whether no pass can simplify the case further; false if `fails` gave up.
    pub finished: bool,
}

/// Simplifies `case` as long as `fails` finds a candidate that fails in the same way. `fails` returns `Ok(None)` to give up.
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

/// The candidates of one pass.
fn simpler(case: &Case, pass: &Pass) -> Vec<Case> {
    let complexity = case.complexity();
    let mut candidates = (pass.candidates)(case);
    candidates.iter_mut().for_each(Case::mend_shared);
    candidates.retain(|candidate| candidate.complexity() < complexity && candidate.check().is_ok());
    candidates
}
