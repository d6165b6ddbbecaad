//! Compares the results of two candles with each other, where no oracle tells them apart.

use std::collections::BTreeMap;

use super::{Change, Class, Evidence, end, is_of_gradients};
use crate::outcome::{Gradients, Observation, Outcome, Returned};
use crate::tensor::{DType, Tensor};

/// Where nothing bounds a value, it may differ by this many roundings. A rounding more or less is no change.
const ROUNDINGS: f64 = 4.0;

/// Values that differ by at most this many roundings of the largest may be sums in another order.
const REORDERED: f64 = 1024.0;

/// What differs in the results, apart from what follows from the violations in `judged`.
pub fn between(
    (base, old): (&Evidence, &Observation),
    (head, new): (&Evidence, &Observation),
    judged: &[Change],
) -> Vec<Change> {
    if judged.iter().any(|change| !is_of_gradients(change)) {
        return Vec::new();
    }
    let change =
        |class, site: String, detail: String| vec![Change { class, signature: None, site, device: new.device, detail }];
    match (&old.outcome, &new.outcome) {
        // A result that differs from run to run is not that of a release.
        _ if old.again.is_some() || new.again.is_some() => Vec::new(),
        (Outcome::Returned(before), Outcome::Returned(after)) => {
            let mut found: Vec<(String, String)> = of_outputs((base, before), (head, after)).into_iter().collect();
            if judged.is_empty() {
                found.extend(of_backward(head, before, after));
            }
            found.into_iter().flat_map(|(site, detail)| change(Class::Changed, site, detail)).collect()
        }
        (Outcome::Returned(_), Outcome::Rejected(refusal)) => {
            change(Class::NewlyRefused, format!("refuses the call: {}", refusal.variant), refusal.message.clone())
        }
        (Outcome::Rejected(refusal), Outcome::Returned(_)) => change(
            Class::NewlyAccepted,
            format!("no longer refuses the call: {}", refusal.variant),
            refusal.message.clone(),
        ),
        (was, is) => match (end(was), end(is)) {
            (None, Some(now)) => change(Class::NewlyCrashing, now, is.summary()),
            (Some(before), None) => change(Class::NewlyAccepted, format!("no longer {before}"), was.summary()),
            _ => Vec::new(),
        },
    }
}

/// A part of a result that differs, and how.
type Part = (String, String);

fn of_outputs((base, before): (&Evidence, &Returned), (head, after): (&Evidence, &Returned)) -> Option<Part> {
    if before.outputs == after.outputs {
        return None;
    }
    let form = |returned: &Returned| -> Vec<String> {
        returned.outputs.iter().map(|tensor| format!("{}{:?}", tensor.dtype, tensor.shape)).collect()
    };
    let (was, is) = (form(before), form(after));
    if was != is {
        return Some((
            "returns another shape or dtype".to_string(),
            format!("{} before, {} after", was.join(", "), is.join(", ")),
        ));
    }
    // Each side's elements that the reference specifies, with the bound. Which these are may depend on the result.
    let bounds = [base.expectations(before), head.expectations(after)];
    let pairs = before.outputs.iter().zip(&after.outputs).enumerate();
    let differing = pairs.filter_map(|(place, (was, is))| {
        let bounds = bounds.iter().filter_map(|side| side.get(place)).flatten();
        difference(was, is, &bounds.map(|it| (it.position, it.within)).collect())
    });
    largest(differing).map(|it| (it.site("returns another value"), it.detail))
}

fn of_backward(head: &Evidence, before: &Returned, after: &Returned) -> Vec<Part> {
    let (was, is) = match (&before.backward, &after.backward) {
        (Gradients::Returned(was), Gradients::Returned(is)) => (was, is),
        (Gradients::Returned(_), Gradients::Rejected(refusal)) => {
            return vec![(format!("refuses the backward pass: {}", refusal.variant), refusal.message.clone())];
        }
        (Gradients::Rejected(refusal), Gradients::Returned(_)) => {
            return vec![(
                format!("no longer refuses the backward pass: {}", refusal.variant),
                refusal.message.clone(),
            )];
        }
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    for name in was.gradients.keys().chain(is.gradients.keys().filter(|name| !was.gradients.contains_key(*name))) {
        match (was.gradients.get(name), is.gradients.get(name)) {
            (Some(was), Some(is)) if was == is => {}
            (Some(was), Some(is)) => {
                let bounds = if head.expected().is_some() { head.gradient_expectations(name, is) } else { Vec::new() };
                let bounds = bounds.into_iter().map(|it| (it.position, it.within)).collect();
                found.extend(
                    difference(was, is, &bounds)
                        .map(|it| (it.site(&format!("computes another gradient of {name}")), it.detail)),
                );
            }
            (Some(_), None) => {
                found.push((format!("leaves out the gradient of {name}"), "there was one before".to_string()))
            }
            _ => found.push((format!("no longer leaves out the gradient of {name}"), "there is one now".to_string())),
        }
    }
    for (name, was) in &was.second {
        let differing = is.second.get(name).and_then(|is| difference(was, is, &BTreeMap::new()));
        found
            .extend(differing.map(|it| (it.site(&format!("computes another second derivative by {name}")), it.detail)));
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
    fn site(&self, part: &str) -> String {
        format!("{part}{}", if self.is_rounding { ", by a rounding" } else { "" })
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
        let bound = bounds.get(&position).copied().unwrap_or_else(|| unbounded(a, b, dtype));
        let off = (a - b).abs();
        if a == b && dtype.is_float() || off <= bound {
            return None;
        }
        let size = if off.is_finite() { off / scale } else { f64::INFINITY };
        let is_rounding = off <= REORDERED * dtype.unit_roundoff() * scale;
        let detail = format!(
            "element {position} of {dtype}{shape:?}: {old} before, {new} after; they may differ by {bound:.1e}"
        );
        Some(Difference { size, is_rounding, detail })
    }))
}

/// How far two values may differ that nothing bounds.
fn unbounded(a: f64, b: f64, dtype: DType) -> f64 {
    let largest = a.abs().max(b.abs());
    if largest.is_finite() { ROUNDINGS * dtype.unit_roundoff() * largest + dtype.smallest() } else { 0.0 }
}
