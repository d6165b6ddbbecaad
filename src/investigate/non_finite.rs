//! NaN and infinities in tensors: which, where first and how many, and the numbers around them in words.

use std::collections::BTreeSet;
use std::fmt;

use crate::tensor::{DType, Tensor, index_of};

/// A tensor under its name in a case, or under none.
pub(super) type Named = (String, Tensor);

/// What is no number to go on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Not a number.
    Nan,
    /// An infinity of either sign.
    Infinity,
}

impl Kind {
    fn of(value: f64) -> Option<Self> {
        if value.is_nan() { Some(Self::Nan) } else { value.is_infinite().then_some(Self::Infinity) }
    }
}

/// The kinds that these tensors hold.
pub(super) fn kinds<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> BTreeSet<Kind> {
    tensors.into_iter().flat_map(floats).filter_map(Kind::of).collect()
}

/// The elements of a tensor that are all NaN, or all the same infinity.
#[derive(Debug)]
pub struct Spots {
    /// What they are.
    pub kind: Kind,
    value: f64,
    /// The place of the tensor among the results.
    pub(super) result: usize,
    /// How the tensor is called after `in`; empty for the only output.
    name: String,
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    /// The first of them, counted in row-major order.
    pub(super) first: usize,
    count: usize,
    elements: usize,
}

impl Spots {
    /// The spots of these kinds in the `result`-th of the results.
    pub(super) fn of(result: usize, (name, tensor): &Named, kinds: &BTreeSet<Kind>) -> Vec<Self> {
        let values = floats(tensor);
        let spots = |value: f64| {
            let same = |other: &f64| other.to_bits() == value.to_bits() || (other.is_nan() && value.is_nan());
            let kind = Kind::of(value).filter(|kind| kinds.contains(kind))?;
            let first = values.iter().position(same)?;
            let count = values.iter().filter(|other| same(other)).count();
            let (name, shape) = (name.clone(), tensor.shape.clone());
            Some(Self { kind, value, result, name, dtype: tensor.dtype, shape, first, count, elements: values.len() })
        };
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].into_iter().filter_map(spots).collect()
    }

    /// ` there` where the tensor has other places as well.
    pub(super) fn there(&self) -> &'static str {
        if self.elements == 1 { "" } else { " there" }
    }
}

impl fmt::Display for Spots {
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

/// These numbers in words, and what they are where the first of `spots` is.
pub(super) fn told(numbers: &[Named], spots: Option<&Spots>) -> String {
    let told: Vec<String> = numbers.iter().map(|number| tell(number, spots)).collect();
    told.join("; ")
}

fn tell((name, tensor): &Named, spots: Option<&Spots>) -> String {
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
    let both = BTreeSet::from([Kind::Nan, Kind::Infinity]);
    parts.extend(Spots::of(0, &(String::new(), tensor.clone()), &both).iter().map(ToString::to_string));
    let mut told = format!("{name} {}", parts.join(" and "));
    let varied = low < high || parts.len() > 1;
    if let Some(spots) = spots.filter(|spots| varied && spots.shape == tensor.shape) {
        told += &format!(", there {:?}", values[spots.first]);
    }
    told
}

/// The elements of a tensor of floats; nothing of integers, which are all numbers.
fn floats(tensor: &Tensor) -> Vec<f64> {
    if tensor.dtype.is_float() { tensor.floats() } else { Vec::new() }
}
