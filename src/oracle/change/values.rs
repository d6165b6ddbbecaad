//! Compares the results of two candles with each other, where no oracle tells them apart.

use std::collections::BTreeMap;

use super::{Change, Class, Evidence, end, is_of_gradients};
use crate::outcome::{Gradients, Observation, Outcome, Refusal, Returned};
use crate::tensor::{DType, Tensor};

/// Where nothing bounds a value, it may differ by this many roundings. A rounding more or less is no change.
const ROUNDINGS: f64 = 4.0;

/// Values that differ by at most this many roundings of the largest may be sums in another order,
const REORDERED: f64 = 1024.0;

/// but not if that is more than this part of it, except where a few roundings are.
const PART: f64 = 0.01;

/// A part of a result that differs: what the op does now, and the difference.
struct Part {
    class: Class,
    does: String,
    detail: String,
}

impl Part {
    fn new(class: Class, does: String, detail: &str) -> Self {
        Self { class, does, detail: detail.to_string() }
    }
}

/// What differs in the results, apart from what follows from the violations in `judged`.
pub fn between(
    (base, old): (&Evidence, &Observation),
    (head, new): (&Evidence, &Observation),
    judged: &[Change],
) -> Vec<Change> {
    if judged.iter().any(|change| !is_of_gradients(change)) {
        return Vec::new();
    }
    let found = match (&old.outcome, &new.outcome) {
        // A result that differs from run to run is not that of a release.
        _ if old.again.is_some() || new.again.is_some() => Vec::new(),
        (Outcome::Returned(before), Outcome::Returned(after)) => {
            let outputs = of_outputs((base, before), (head, after));
            let backward = if judged.is_empty() { of_backward(head, before, after) } else { Vec::new() };
            outputs.into_iter().chain(backward).collect()
        }
        (Outcome::Returned(_), Outcome::Rejected(refusal)) => {
            vec![Part::new(Class::NewlyRefused, format!("rejects the call: {}", refusal.variant), &refusal.message)]
        }
        (Outcome::Rejected(refusal), Outcome::Returned(_)) => {
            let does = format!("no longer rejects the call: {}", refusal.variant);
            vec![Part::new(Class::NewlyAccepted, does, &refusal.message)]
        }
        (was, is) => match (end(was), end(is)) {
            (None, Some(now)) => vec![Part::new(Class::NewlyCrashing, now, &is.summary())],
            (Some(before), None) => {
                vec![Part::new(Class::NewlyAccepted, format!("no longer {before}"), &was.summary())]
            }
            _ => Vec::new(),
        },
    };
    let change = |part: Part| Change {
        class: part.class,
        signature: None,
        site: part.does,
        device: new.device,
        detail: part.detail,
    };
    found.into_iter().map(change).collect()
}

fn of_outputs((base, before): (&Evidence, &Returned), (head, after): (&Evidence, &Returned)) -> Option<Part> {
    if before.outputs == after.outputs {
        return None;
    }
    let form = |returned: &Returned| -> Vec<String> {
        returned.outputs.iter().map(|tensor| format!("{}{:?}", tensor.dtype, tensor.shape)).collect()
    };
    let (was, is) = (form(before), form(after));
    if was != is {
        let detail = format!("{} before, {} after", was.join(", "), is.join(", "));
        return Some(Part::new(Class::Changed, "returns a different shape or dtype".to_string(), &detail));
    }
    // Each side's elements that the reference specifies, with the bound. Which these are may depend on the result.
    let bounds = [base.expectations(before), head.expectations(after)];
    let pairs = before.outputs.iter().zip(&after.outputs).enumerate();
    let differing = pairs.filter_map(|(place, (was, is))| {
        let bounds = bounds.iter().filter_map(|side| side.get(place)).flatten();
        difference(was, is, &bounds.map(|it| (it.position, it.within)).collect())
    });
    largest(differing).map(|it| it.part("returns a different value"))
}

fn of_backward(head: &Evidence, before: &Returned, after: &Returned) -> Vec<Part> {
    let refused = |class, does: &str, refusal: &Refusal| {
        vec![Part::new(class, format!("{does} the backward pass: {}", refusal.variant), &refusal.message)]
    };
    let (was, is) = match (&before.backward, &after.backward) {
        (Gradients::Returned(was), Gradients::Returned(is)) => (was, is),
        (Gradients::Returned(_), Gradients::Rejected(refusal)) => {
            return refused(Class::NewlyRefused, "rejects", refusal);
        }
        (Gradients::Rejected(refusal), Gradients::Returned(_)) => {
            return refused(Class::NewlyAccepted, "no longer rejects", refusal);
        }
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    for name in was.gradients.keys().chain(is.gradients.keys().filter(|name| !was.gradients.contains_key(*name))) {
        let gradient = |does: &str| format!("{does} the gradient of {name}");
        match (was.gradients.get(name), is.gradients.get(name)) {
            (Some(was), Some(is)) if was == is => {}
            (Some(was), Some(is)) => {
                let bounds = if head.expected().is_some() { head.gradient_expectations(name, is) } else { Vec::new() };
                let bounds = bounds.into_iter().map(|it| (it.position, it.within)).collect();
                let differing = difference(was, is, &bounds);
                found.extend(differing.map(|it| it.part(&format!("computes a different gradient of {name}"))));
            }
            (Some(_), None) => {
                found.push(Part::new(Class::Changed, gradient("omits"), "there was one before"));
            }
            _ => found.push(Part::new(Class::NewlyAccepted, gradient("no longer omits"), "there is one now")),
        }
    }
    for (name, was) in &was.second {
        let differing = is.second.get(name).and_then(|is| difference(was, is, &BTreeMap::new()));
        found.extend(differing.map(|it| it.part(&format!("computes a different second derivative by {name}"))));
    }
    found
}

/// How two tensors differ most.
struct Difference {
    /// In units of the largest value.
    size: f64,
    /// Whether it may come from another order of the same sum.
    is_rounding: bool,
    detail: String,
}

impl Difference {
    fn part(self, does: &str) -> Part {
        let does = format!("{does}{}", if self.is_rounding { ", by a rounding error" } else { "" });
        Part::new(Class::Changed, does, &self.detail)
    }
}

fn largest(all: impl Iterator<Item = Difference>) -> Option<Difference> {
    all.max_by(|one, other| one.size.total_cmp(&other.size))
}

/// The largest difference of tensors of one shape and dtype beyond the bounds, which are by position; `None` if all are within.
fn difference(was: &Tensor, is: &Tensor, bounds: &BTreeMap<usize, f64>) -> Option<Difference> {
    let (dtype, shape) = (is.dtype, &is.shape);
    if (was.dtype, &was.shape) != (dtype, shape) {
        let detail = format!("{}{:?} before, {dtype}{shape:?} after", was.dtype, was.shape);
        return Some(Difference { size: f64::INFINITY, is_rounding: false, detail });
    }
    let (old, new) = (was.expanded(), is.expanded());
    let magnitude = |value: f64| if value.is_finite() { value.abs() } else { 0.0 };
    let scale = old.iter().chain(&new).fold(0.0, |scale: f64, value| scale.max(magnitude(value.as_f64())));
    let differing = old.iter().zip(&new).enumerate().filter(|(_, (old, new))| old != new);
    largest(differing.filter_map(|(position, (old, new))| {
        let (a, b) = (old.as_f64(), new.as_f64());
        let known = bounds.get(&position).copied();
        let off = (a - b).abs();
        if a == b && dtype.is_float() || off <= known.unwrap_or_else(|| unbounded(a, b, dtype)) {
            return None;
        }
        let size = if off.is_finite() { off / scale } else { f64::INFINITY };
        let unit = dtype.unit_roundoff();
        let is_rounding = off <= scale * (REORDERED * unit).min(PART).max(ROUNDINGS * unit);
        let bound = known.map_or_else(|| "nothing bounds it".to_string(), |bound| format!("its bound is {bound:.1e}"));
        let detail = format!("element {position} of {dtype}{shape:?}: {old} before, {new} after; {bound}");
        Some(Difference { size, is_rounding, detail })
    }))
}

/// How far two values may differ that nothing bounds.
fn unbounded(a: f64, b: f64, dtype: DType) -> f64 {
    let largest = a.abs().max(b.abs());
    if largest.is_finite() { ROUNDINGS * dtype.unit_roundoff() * largest + dtype.smallest() } else { 0.0 }
}
