//! Compares two outcomes of a case, without any contract.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::values::{Values, bits, ulps};
use crate::outcome::{Gradients, Outcome, Place, Returned};
use crate::tensor::{Tensor, index_of};

/// How two outcomes differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// They end differently: another class, another fault, another refusal.
    End(String, String),
    /// Both return, but not tensors of the same dtypes and shapes.
    Shape(String),
    /// Both return the same shapes with other values; the element that is furthest off.
    Values(Element),
}

/// An element that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Element {
    /// The tensor, such as `output 0` or `gradient of x`.
    pub part: String,
    /// Its index in the tensor.
    pub index: Vec<usize>,
    /// The value on the first device, and its bits.
    pub left: (String, String),
    /// The value on the second device, and its bits.
    pub right: (String, String),
    /// The distance in units in the last place; `null` if only one is NaN or infinite.
    pub ulps: Option<u64>,
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, index, left, right, ulps } = self;
        write!(f, "{part} at {index:?}: {} ({}) against {} ({})", left.0, left.1, right.0, right.1)?;
        ulps.map_or(Ok(()), |ulps| write!(f, ", {ulps} ulp apart"))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End(left, right) => write!(f, "{left} against {right}"),
            Self::Shape(what) => f.write_str(what),
            Self::Values(element) => element.fmt(f),
        }
    }
}

/// Compares two outcomes and counts the elements of those that returned. `None` if they agree in every bit.
pub fn compare(left: &Outcome, right: &Outcome, counts: &mut Values) -> Option<Difference> {
    if !same_end(left, right) {
        return Some(Difference::End(detail(left), detail(right)));
    }
    let (Outcome::Returned(left), Outcome::Returned(right)) = (left, right) else { return None };
    let (lefts, rights) = (parts(left), parts(right));
    let shapes = |parts: &[(String, &Tensor)]| {
        let shown: Vec<String> =
            parts.iter().map(|(name, tensor)| format!("{name} {}{:?}", tensor.dtype, tensor.shape)).collect();
        shown.join(", ")
    };
    if shapes(&lefts) != shapes(&rights) {
        return Some(Difference::Shape(format!("{} against {}", shapes(&lefts), shapes(&rights))));
    }
    let mut worst: Option<Element> = None;
    for ((name, left), (_, right)) in lefts.iter().zip(&rights) {
        for (place, (a, b)) in left.expanded().into_iter().zip(right.expanded()).enumerate() {
            let ulps = ulps(left.dtype, a, b);
            counts.count(ulps);
            // No distance at all is the furthest.
            let rank = |ulps: Option<u64>| ulps.unwrap_or(u64::MAX);
            if ulps == Some(0) || worst.as_ref().is_some_and(|worst| rank(ulps) <= rank(worst.ulps)) {
                continue;
            }
            let shown = |value| (format!("{value}"), hex(left.dtype.size(), bits(left.dtype, value)));
            let index = index_of(place, &left.shape);
            worst = Some(Element { part: name.clone(), index, left: shown(a), right: shown(b), ulps });
        }
    }
    worst.map(Difference::Values)
}

/// The bits of an element of `bytes` bytes.
pub fn hex(bytes: usize, bits: u64) -> String {
    format!("{bits:0width$x}", width = 2 * bytes)
}

/// The tensors of a result, by name.
pub fn parts(returned: &Returned) -> Vec<(String, &Tensor)> {
    let outputs = returned.outputs.iter().enumerate().map(|(number, tensor)| (format!("output {number}"), tensor));
    let mut parts: Vec<(String, &Tensor)> = outputs.collect();
    if let Gradients::Returned(store) = &returned.backward {
        parts.extend(store.gradients.iter().map(|(name, tensor)| (format!("gradient of {name}"), tensor)));
        parts.extend(store.second.iter().map(|(name, tensor)| (format!("second derivative by {name}"), tensor)));
    }
    parts
}

/// Whether two outcomes are of the same class and kind. A place counts only if both devices name one: a GPU knows that of an
/// assertion alone. Phases do not count: a GPU reports a fault late.
pub fn same_end(left: &Outcome, right: &Outcome) -> bool {
    let same_place = |a: &Place, b: &Place| a.is_unknown() || b.is_unknown() || a == b;
    match (left, right) {
        (Outcome::Returned(left), Outcome::Returned(right)) => match (&left.backward, &right.backward) {
            (Gradients::Returned(left), Gradients::Returned(right)) => left.missing == right.missing,
            (Gradients::Rejected(left), Gradients::Rejected(right)) => left.variant == right.variant,
            (Gradients::NotAsked, Gradients::NotAsked) => true,
            _ => false,
        },
        (Outcome::Rejected(left), Outcome::Rejected(right)) => left.variant == right.variant,
        (Outcome::Panicked(left), Outcome::Panicked(right)) => left.place == right.place,
        (Outcome::Faulted(left), Outcome::Faulted(right)) => {
            left.kind == right.kind && same_place(&left.place, &right.place)
        }
        (Outcome::Died(left), Outcome::Died(right)) => left.signal == right.signal,
        (left, right) => left.name() == right.name(),
    }
}

/// The class of an outcome for counts: with the kind and place of a fault, and whether the backward pass was refused.
pub fn class(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Faulted(fault) if fault.place.is_unknown() => format!("faulted: {}", fault.kind),
        Outcome::Faulted(fault) => format!("faulted: {} at {}", fault.kind, fault.place),
        Outcome::Returned(Returned { backward: Gradients::Rejected(_), .. }) => {
            "returned, backward rejected".to_string()
        }
        outcome => outcome.name().to_string(),
    }
}

/// [`class`], with what else two outcomes of the class may differ in.
fn detail(outcome: &Outcome) -> String {
    let class = class(outcome);
    match outcome {
        Outcome::Rejected(refusal) => format!("{class}: {}", refusal.variant),
        Outcome::Panicked(panic) => format!("{class} at {}", panic.place),
        Outcome::Unsupported(what) => format!("{class}: {what}"),
        Outcome::Returned(Returned { backward: Gradients::Rejected(refusal), .. }) => {
            format!("{class}: {}", refusal.variant)
        }
        Outcome::Returned(Returned { backward: Gradients::Returned(store), .. }) if !store.missing.is_empty() => {
            format!("{class} without a gradient of {}", store.missing.join(", "))
        }
        Outcome::Returned(Returned { backward: Gradients::NotAsked, .. }) => format!("{class} without gradients"),
        _ => class,
    }
}
