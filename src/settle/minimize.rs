//! Makes a case simpler while it fails in the same way: steps, threads, device objects and shapes first, then views, dtypes, params, labels and values.
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

use crate::case::{Case, Complexity};
use edit::Edit;

use Tries::{Cases, Edits};

/// A kind of simplification.
#[derive(Debug)]
struct Pass {
    /// The name in statistics.
    name: &'static str,
    /// What it tries.
    tries: Tries,
}

/// What a pass tries.
#[derive(Debug)]
enum Tries {
    /// Simpler cases, the boldest first.
    Cases(fn(&Case) -> Vec<Case>),
    /// Small edits: of each list any number can be made together, and an edit that was made is not in the list any more.
    Edits(&'static [fn(&Case) -> Vec<Edit>]),
}

/// Every pass, in the order in which they are tried.
static PASSES: &[Pass] = &[
    Pass { name: "steps", tries: Cases(arguments::steps) },
    Pass { name: "threads", tries: Cases(arguments::threads) },
    Pass { name: "devices", tries: Cases(arguments::devices) },
    Pass { name: "times", tries: Cases(arguments::times) },
    Pass { name: "repeat", tries: Cases(arguments::repeat) },
    Pass { name: "sizes", tries: Cases(shapes::sizes) },
    Pass { name: "empty sizes", tries: Cases(coupled_passes::empty_sizes) },
    Pass { name: "dims", tries: Cases(shapes::dims) },
    Pass { name: "ranks", tries: Cases(shapes::ranks) },
    Pass { name: "inputs", tries: Cases(arguments::inputs) },
    Pass { name: "entries", tries: Cases(coupled_passes::entries) },
    Pass { name: "sides", tries: Cases(coupled_passes::sides) },
    Pass { name: "views", tries: Cases(arguments::views) },
    Pass { name: "other views", tries: Cases(coupled_passes::views) },
    Pass { name: "dtypes", tries: Cases(elements::dtypes) },
    Pass { name: "backward", tries: Cases(arguments::backward) },
    Pass { name: "params", tries: Cases(arguments::params) },
    Pass { name: "params' values", tries: Cases(coupled_passes::values) },
    Pass { name: "fills", tries: Cases(elements::fills) },
    Pass { name: "values", tries: Edits(elements::VALUES) },
];

/// What a pass did.
#[derive(Debug, Clone, Copy)]
pub struct PassCounts {
    /// The name of the pass.
    pub name: &'static str,
    /// How many candidates were tried.
    pub tried: usize,
    /// How many of them failed in the same way.
    pub accepted: usize,
}

/// A minimized case and its statistics.
#[derive(Debug, Clone)]
pub struct Minimized {
    /// The simplest failing case found.
    pub case: Case,
    /// What each pass did.
    pub passes: Vec<PassCounts>,
    /// Whether no pass can simplify the case further; false if `fails` gave up.
    pub finished: bool,
}

impl Minimized {
    /// How many candidates were tried.
    pub fn attempts(&self) -> usize {
        self.passes.iter().map(|pass| pass.tried).sum()
    }
}

/// Simplifies `case` as long as `fails` finds a candidate that fails in the same way. `fails` returns `Ok(None)` to give up.
pub fn minimize<E>(case: Case, fails: impl FnMut(&Case) -> Result<Option<bool>, E>) -> Result<Minimized, E> {
    let passes = PASSES.iter().map(|pass| PassCounts { name: pass.name, tried: 0, accepted: 0 }).collect();
    let complexity = case.complexity();
    let mut minimizer = Minimizer { case, complexity, tried: HashSet::new(), passes, fails };
    let finished = match minimizer.run() {
        Ok(()) => true,
        Err(Stop::GaveUp) => false,
        Err(Stop::Failed(error)) => return Err(error),
    };
    let Minimizer { case, passes, .. } = minimizer;
    Ok(Minimized { case, passes, finished })
}

/// Why a minimization ends early.
enum Stop<E> {
    GaveUp,
    Failed(E),
}

struct Minimizer<F> {
    /// The simplest failing case so far.
    case: Case,
    complexity: Complexity,
    tried: HashSet<Case>,
    passes: Vec<PassCounts>,
    fails: F,
}

impl<E, F: FnMut(&Case) -> Result<Option<bool>, E>> Minimizer<F> {
    /// Runs every pass again and again, until none finds a simpler case.
    fn run(&mut self) -> Result<(), Stop<E>> {
        loop {
            let before = self.accepted();
            for number in 0..PASSES.len() {
                while self.pass(number)? {}
            }
            if self.accepted() == before {
                return Ok(());
            }
        }
    }

    /// Runs a pass once. Returns whether it found a simpler case.
    fn pass(&mut self, number: usize) -> Result<bool, Stop<E>> {
        let before = self.accepted();
        match PASSES[number].tries {
            Cases(list) => self.try_cases(number, list)?,
            Edits(lists) => lists.iter().try_for_each(|list| self.try_edits(number, *list))?,
        }
        Ok(self.accepted() > before)
    }

    fn accepted(&self) -> usize {
        self.passes.iter().map(|pass| pass.accepted).sum()
    }

    /// Tries each of the cases that `list` makes of the simplest one so far. After a success it goes on at the same place of the new list:
    /// what is before it just failed on a case much like this one.
    fn try_cases(&mut self, number: usize, list: fn(&Case) -> Vec<Case>) -> Result<(), Stop<E>> {
        let mut place = 0;
        'list: loop {
            for candidate in list(&self.case).into_iter().skip(place) {
                if self.accepts(number, candidate)? {
                    continue 'list;
                }
                place += 1;
            }
            return Ok(());
        }
    }

    /// Makes the edits in `list` that can be made: all at once, or else one, and after each success twice as many. So a run of edits
    /// that can be made takes a logarithm of its length.
    fn try_edits(&mut self, number: usize, list: fn(&Case) -> Vec<Edit>) -> Result<(), Stop<E>> {
        let (mut place, mut count) = (0, usize::MAX);
        loop {
            let edits = list(&self.case);
            let Some(rest) = edits.get(place..).filter(|rest| !rest.is_empty()) else { return Ok(()) };
            let some = &rest[..count.min(rest.len())];
            let mut candidate = self.case.clone();
            for edit in some {
                edit(&mut candidate);
            }
            if self.accepts(number, candidate)? {
                count = count.saturating_mul(2);
            } else {
                place += usize::from(some.len() == 1);
                count = 1;
            }
        }
    }

    /// Whether `candidate` is simpler and fails in the same way. Then it takes the place of the case.
    fn accepts(&mut self, number: usize, mut candidate: Case) -> Result<bool, Stop<E>> {
        candidate.repair_shared();
        let complexity = candidate.complexity();
        if complexity >= self.complexity || candidate.check().is_err() || !self.tried.insert(candidate.clone()) {
            return Ok(false);
        }
        let counts = &mut self.passes[number];
        counts.tried += 1;
        let fails = (self.fails)(&candidate).map_err(Stop::Failed)?.ok_or(Stop::GaveUp)?;
        if fails {
            counts.accepted += 1;
            (self.case, self.complexity) = (candidate, complexity);
        }
        Ok(fails)
    }
}
