//! NaN and infinities in tensors: which, where the first is and how many, and descriptions of the tensors around them.

use std::collections::BTreeSet;
use std::fmt;

use crate::tensor::{DType, Tensor, index_of};

/// A tensor and its name in a case, which may be empty.
pub(super) type Named = (String, Tensor);

/// A kind of non-finite value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NonFinite {
    /// Not a number.
    Nan,
    /// An infinity of either sign.
    Infinity,
}

impl NonFinite {
    fn of(value: f64) -> Option<Self> {
        if value.is_nan() { Some(Self::Nan) } else { value.is_infinite().then_some(Self::Infinity) }
    }
}

/// The kinds of non-finite values in these tensors.
pub(super) fn kinds<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> BTreeSet<NonFinite> {
    tensors.into_iter().flat_map(floats).filter_map(NonFinite::of).collect()
}

/// The elements of a tensor that are all NaN, or all the same infinity.
#[derive(Debug)]
pub struct Occurrences {
    /// Which kind of value they are.
    pub kind: NonFinite,
    value: f64,
    /// The index of the tensor among the results.
    pub(super) result: usize,
    /// The name of the tensor; empty for the only output.
    name: String,
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    /// The position of the first of them in row-major order.
    pub(super) first: usize,
    count: usize,
    elements: usize,
}

impl Occurrences {
    /// The occurrences of these kinds in the `result`-th of the results.
    pub(super) fn of(result: usize, (name, tensor): &Named, kinds: &BTreeSet<NonFinite>) -> Vec<Self> {
        let values = floats(tensor);
        let occurrences = |value: f64| {
            let same = |other: &f64| other.to_bits() == value.to_bits() || (other.is_nan() && value.is_nan());
            let kind = NonFinite::of(value).filter(|kind| kinds.contains(kind))?;
            let first = values.iter().position(same)?;
            let count = values.iter().filter(|other| same(other)).count();
            let (name, shape) = (name.clone(), tensor.shape.clone());
            Some(Self { kind, value, result, name, dtype: tensor.dtype, shape, first, count, elements: values.len() })
        };
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].into_iter().filter_map(occurrences).collect()
    }

    /// ` there` if the tensor has several elements, for use in a sentence about the first occurrence.
    pub(super) fn position_suffix(&self) -> &'static str {
        if self.elements == 1 { "" } else { " there" }
    }
}

impl fmt::Display for Occurrences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.value)?;
        if !self.name.is_empty() {
            write!(f, " in {}", self.name)?;
        }
        if self.elements == 1 {
            return Ok(());
        }
        write!(f, " at {:?}, {} of {}", index_of(self.first, &self.shape), self.count, self.elements)
    }
}

/// Describes these tensors: their ranges, their non-finite values, and the element at the first of `occurrences`.
pub(super) fn describe(tensors: &[Named], occurrences: Option<&Occurrences>) -> String {
    let described: Vec<String> = tensors.iter().map(|tensor| describe_one(tensor, occurrences)).collect();
    described.join("; ")
}

fn describe_one((name, tensor): &Named, occurrences: Option<&Occurrences>) -> String {
    let values = floats(tensor);
    if let [value] = values[..] {
        return format!("{name} {value:?}");
    }
    let finite = values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let mut parts = Vec::new();
    if low == high {
        parts.push(format!("{low:?}"));
    } else if low < high {
        parts.push(format!("{low:?} to {high:?}"));
    }
    let all_kinds = BTreeSet::from([NonFinite::Nan, NonFinite::Infinity]);
    parts.extend(Occurrences::of(0, &(String::new(), tensor.clone()), &all_kinds).iter().map(ToString::to_string));
    let mut text = format!("{name} {}", parts.join(" and "));
    let varied = low < high || parts.len() > 1;
    if let Some(occurrences) = occurrences.filter(|other| varied && other.shape == tensor.shape) {
        text += &format!(", there {:?}", values[occurrences.first]);
    }
    text
}

/// The elements of a float tensor; empty for integers, which are always finite.
fn floats(tensor: &Tensor) -> Vec<f64> {
    if tensor.dtype.is_float() { tensor.floats() } else { Vec::new() }
}
