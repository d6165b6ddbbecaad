//! Compares gradients with the derivative of the `f64` reference, and detects missing gradients.
//!
//! The derivative comes from forward-mode differentiation of the reference, one direction at a time. A direction that
//! moves all elements of an input checks them all at once. If it disagrees, hits a kink, or could not show one wrong element, the
//! elements are halved.

mod slopes;

use std::ops::Range;

use super::compare::{Agreement, bound, compare_slope};
use super::derivative::{FACTOR, derivative};
use super::reference::within;
use super::{Evidence, Kind, OracleName, Site, Verdict, fail, needs, violation};
use crate::case::weight;
use crate::ops::{Contract, broken_shares};
use crate::outcome::{Gradients, Observation, Outcome, Refusal};
use crate::tensor::{Tensor, index_of};

/// How many directions of one input to try, to find one that is conclusive or to locate a wrong element.
const MAX_RUNS: usize = 24;
/// From this many elements on, a run of the reference takes milliseconds.
const LARGE: usize = 4096;
/// From so many elements of all inputs and outputs on, a run takes a tenth of a second.
const HUGE: usize = 1 << 16;

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    let Outcome::Returned(returned) = &seen.outcome else { return Verdict::Skip("nothing returned") };
    let store = match &returned.backward {
        Gradients::NotAsked => return Verdict::Skip("no gradient asked for"),
        Gradients::Rejected(refusal) => return judge_refusal(evidence, seen, refusal),
        Gradients::Returned(store) => store,
    };
    if evidence.expected().is_none() {
        return slopes::judge(evidence, seen, returned, store);
    }
    // The first output of a step may be independent of some of the step's inputs.
    let matters = |name: &&String| {
        let stored = evidence.case.inputs[*name].stored().unwrap_or(0);
        stored > 0 && (evidence.case.steps.is_empty() || depends(evidence, name, stored))
    };
    let mut violations = Vec::new();
    if let Some(name) = store.missing.iter().find(matters) {
        let detail = format!("expected a gradient of {name}; the store has none");
        violations.push(violation(OracleName::Gradient, Kind::MissingGradient, Site::Call, seen, detail));
    }
    if evidence.any_value(|value| !value.is_finite()) {
        return Verdict::of(violations, Verdict::Skip("derivatives at infinity"));
    }
    let mut otherwise = Verdict::Skip("every derivative overflows or is at a kink");
    for (name, grad) in &store.gradients {
        match check(evidence, name, grad) {
            Checked::Unknown => {}
            Checked::Right => otherwise = Verdict::Pass,
            Checked::Wrong { detail, ties } => {
                let only_in_a_view = contiguous_is_right(evidence, name, seen);
                let needs = if ties {
                    needs::of_ties(evidence, seen, only_in_a_view, name)
                } else {
                    needs::of_value(evidence, seen, only_in_a_view, Some(name))
                };
                let site = Site::Needs(needs);
                violations.push(violation(OracleName::Gradient, Kind::WrongValue, site, seen, detail));
            }
        }
    }
    let is_wrong = violations.iter().any(|violation| violation.kind == Kind::WrongValue);
    let broken = if is_wrong { None } else { broken_shares(&evidence.op.complete(evidence.case), &store.gradients) };
    violations.extend(broken.map(|(name, detail)| {
        let site = Site::Needs(needs::of_ties(evidence, seen, false, name));
        violation(OracleName::Gradient, Kind::WrongValue, site, seen, detail)
    }));
    Verdict::of(violations, otherwise)
}

/// The verdict on an `Err` from the backward pass.
fn judge_refusal(evidence: &Evidence, seen: &Observation, refusal: &Refusal) -> Verdict {
    let may_refuse = matches!(evidence.contract, Contract::Accepts { refusal: Some(_), .. });
    if may_refuse || !evidence.supported(seen.device) {
        return Verdict::Skip("an Err is allowed");
    }
    if evidence.expected().is_none() {
        return Verdict::Skip("no reference");
    }
    // A backward pass that candle says is missing has its own kind: it is not a wrong one.
    let lacks = refusal.variant == "BackwardNotSupported" || refusal.message.contains("not supported");
    let kind = if lacks { Kind::NotSupported } else { Kind::RefusedGradient };
    let detail = format!("expected gradients; got Err: {}", refusal.message);
    fail(OracleName::Gradient, kind, Site::Variant(refusal.variant.clone()), seen, detail)
}

/// Whether the outputs depend on the input `name`.
fn depends(evidence: &Evidence, name: &str, stored: usize) -> bool {
    let weights: Vec<f64> = (0..stored).map(|element| weight(element + 1)).collect();
    let along = |weights: &[f64]| {
        let derivative = derivative(evidence, name, &evidence.case.inputs[name], weights);
        (derivative.slope, derivative.slope_error)
    };
    // A slope of 0 has an error, too, if it may underflow.
    along(&weights) != along(&vec![0.0; stored])
}

enum Checked {
    Right,
    Unknown,
    /// What is wrong, and whether only the sum over elements that are equal shows it.
    Wrong {
        detail: String,
        ties: bool,
    },
}

impl Checked {
    /// The graver of two results: wrong, then right, then unknown. Of two that are wrong, this one.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (wrong @ Self::Wrong { .. }, _) | (_, wrong @ Self::Wrong { .. }) => wrong,
            (Self::Right, _) | (_, Self::Right) => Self::Right,
            (Self::Unknown, Self::Unknown) => Self::Unknown,
        }
    }
}

/// Whether the same values in contiguous tensors give the right gradient of `name`.
fn contiguous_is_right(evidence: &Evidence, name: &str, seen: &Observation) -> bool {
    let Some(Outcome::Returned(returned)) = &seen.contiguous else { return false };
    let Gradients::Returned(store) = &returned.backward else { return false };
    // A contiguous copy of a broadcast input has one gradient per element: not comparable.
    let comparable = |grad: &&Tensor| Some(grad.shape.iter().product()) == evidence.case.inputs[name].stored();
    store
        .gradients
        .get(name)
        .filter(comparable)
        .is_some_and(|grad| !matches!(check(evidence, name, grad), Checked::Wrong { .. }))
}

/// Compares `grad` (one entry per stored element of the input) with the reference's derivative.
fn check(evidence: &Evidence, name: &str, grad: &Tensor) -> Checked {
    let (grads, stored) = (grad.floats(), evidence.case.inputs[name].stored().unwrap_or(0));
    if grads.len() != stored {
        let detail = format!("expected {stored} gradients of {name}, got {}", grads.len());
        return Checked::Wrong { detail, ties: false };
    }
    if stored == 0 {
        return Checked::Right;
    }
    let is_large = stored > LARGE || evidence.contract.elements(evidence.case) > HUGE;
    let most = if is_large { MAX_RUNS / 4 } else { MAX_RUNS };
    let mut comparison = Comparison { evidence, name, grad, grads, runs_left: most, undecided: false };
    match comparison.check(0..stored) {
        wrong @ Checked::Wrong { .. } => wrong,
        checked if comparison.undecided => comparison.check_sums(most).or(checked),
        checked => checked,
    }
}

/// The comparison of one input's gradient. It halves the elements until a direction over some of them is conclusive.
struct Comparison<'a> {
    evidence: &'a Evidence<'a>,
    name: &'a str,
    grad: &'a Tensor,
    grads: Vec<f64>,
    /// How many more directions to try.
    runs_left: usize,
    /// Whether some elements have no derivative of their own.
    undecided: bool,
}

impl Comparison<'_> {
    /// Compares the elements at `positions` along one direction. A disagreement is located, and counts even if it cannot be.
    fn check(&mut self, positions: Range<usize>) -> Checked {
        self.runs_left = self.runs_left.saturating_sub(1);
        let input = &self.evidence.case.inputs[self.name];
        let single = positions.len() == 1;
        let share = |element: usize| if single { 1.0 } else { weight(element + 1) };
        let mut direction = vec![0.0; self.grads.len()];
        positions.clone().for_each(|element| direction[element] = share(element));
        let products: Vec<f64> = positions.clone().map(|element| self.grads[element] * share(element)).collect();
        let (got, spread): (f64, f64) = (sum(&products), products.iter().map(|product| product.abs()).sum());
        let mut want = derivative(self.evidence, self.name, input, &direction);
        if !single {
            want.slope_error += spread * input.dtype.unit_roundoff();
        }
        let factor = FACTOR * self.evidence.op.ulps;
        let tolerance = bound(want.slope_error, self.grad.dtype, factor);
        match compare_slope(&want, got, self.grad.dtype, factor) {
            // One wrong element must show among the others.
            Agreement::Same if single || tolerance < spread / products.len() as f64 || self.runs_left == 0 => {
                Checked::Right
            }
            Agreement::Unknown if single || self.runs_left == 0 => {
                self.undecided = true;
                Checked::Unknown
            }
            Agreement::Same => self.halves(&positions).or(Checked::Right),
            Agreement::Unknown => self.halves(&positions),
            Agreement::Different => {
                let elements = match &positions {
                    Range { start, .. } if single => format!("element {start}"),
                    Range { start, end } => format!("along weights of elements {start} to {}", end - 1),
                };
                let (name, slope) = (self.name, within(want.slope, tolerance));
                let wrong = format!("{elements} of {name}: expected {slope}, got {got:?}");
                let is_smallest = single || self.runs_left == 0;
                // If neither half is wrong by itself, both together are.
                let smaller = if is_smallest { Checked::Unknown } else { self.halves(&positions) };
                smaller.or(Checked::Wrong { detail: wrong, ties: false })
            }
        }
    }

    /// Compares sums of elements. Where equal elements compete, a direction that moves them alike has a derivative even though no
    /// single element has: their shares add up to the whole, whoever gets them (torch.amax distributes them evenly, torch.max gives
    /// all to one). The first direction that is conclusive moves alike what lies along as few dimensions as possible.
    fn check_sums(&self, most: usize) -> Checked {
        let input = &self.evidence.case.inputs[self.name];
        let shape = input.stored_shape();
        let mut choices: Vec<u32> = (0..1 << shape.len()).collect();
        choices.sort_by_key(|alike| alike.count_ones());
        let all = choices.pop().unwrap_or(0);
        // Without any, each element moves for itself, which has been tried.
        for alike in choices.into_iter().skip(1).take(most).chain([all]) {
            let place = |element: usize| {
                let index = index_of(element, &shape).into_iter().enumerate();
                index.filter(|(dim, _)| alike & (1 << dim) == 0).fold(0, |place, (dim, at)| place * shape[dim] + at)
            };
            let direction: Vec<f64> = (0..self.grads.len()).map(|element| weight(place(element))).collect();
            let products: Vec<f64> = self.grads.iter().zip(&direction).map(|(grad, share)| grad * share).collect();
            let mut want = derivative(self.evidence, self.name, input, &direction);
            want.slope_error += products.iter().map(|product| product.abs()).sum::<f64>() * input.dtype.unit_roundoff();
            let (got, factor) = (sum(&products), FACTOR * self.evidence.op.ulps);
            match compare_slope(&want, got, self.grad.dtype, factor) {
                Agreement::Same => return Checked::Right,
                Agreement::Unknown => {}
                Agreement::Different => {
                    let (name, slope) = (self.name, want.slope);
                    let sums = if alike.count_ones() as usize == shape.len() { "sum" } else { "weighted sums" };
                    let detail = format!(
                        "{sums} of all elements of {name}, some of which are equal: expected {slope:?}, got {got:?}"
                    );
                    return Checked::Wrong { detail, ties: true };
                }
            }
        }
        Checked::Unknown
    }

    /// The result for both halves of `positions`: wrong if either is, else right if either is.
    fn halves(&mut self, positions: &Range<usize>) -> Checked {
        let middle = positions.start + positions.len() / 2;
        match self.check(positions.start..middle) {
            wrong @ Checked::Wrong { .. } => wrong,
            first => self.check(middle..positions.end).or(first),
        }
    }
}

/// The sum of `terms`, whose roundings are summed beside it (Neumaier): many terms of f64 are added up here in f64.
fn sum(terms: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0);
    for &term in terms {
        let next = sum + term;
        let (larger, smaller) = if sum.abs() >= term.abs() { (sum, term) } else { (term, sum) };
        lost += (larger - next) + smaller;
        sum = next;
    }
    // Infinities and NaN have lost NaN.
    if lost.is_finite() { sum + lost } else { sum }
}
