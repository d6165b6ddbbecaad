//! Between which numbers the total of a group of finite numbers lies: its sum, its mean, its norm.

use super::groups;
use crate::case::Case;
use crate::number::accumulator;
use crate::tensor::{DType, Tensor};

/// Where the total of a group lies; `None` if nothing is known.
pub type Range = fn(&Group) -> Option<(f64, f64)>;

/// A group of finite numbers.
#[derive(Debug)]
pub struct Group {
    dtype: DType,
    count: f64,
    least: f64,
    most: f64,
}

impl Group {
    fn of(dtype: DType, numbers: impl ExactSizeIterator<Item = f64>) -> Self {
        let count = numbers.len() as f64;
        let (least, most) =
            numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        Self { dtype, count, least, most }
    }

    /// The largest magnitude.
    fn size(&self) -> f64 {
        self.most.max(-self.least)
    }

    /// How much a chain of roundings, one for each number, may add to 1.
    fn growth(&self) -> f64 {
        (self.count * accumulator(self.dtype.unit_roundoff()) + 8.0 * self.dtype.unit_roundoff()).exp()
    }

    /// A bound of the dtype: what is beyond its range is infinite.
    fn or_infinite(&self, bound: f64) -> f64 {
        if bound.abs() > self.dtype.max() { f64::INFINITY.copysign(bound) } else { bound }
    }

    /// The most that hardware loses when it flushes a subnormal number to zero.
    fn flushed(&self) -> f64 {
        if self.dtype == DType::F64 { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) }
    }
}

/// A rounded sum of numbers of one sign is at least as large as either, in any order of additions.
pub fn sum(group: &Group) -> Option<(f64, f64)> {
    let far = |extreme: f64| {
        // A roundoff of the dtype in each addition, in case that it accumulates.
        let most = extreme * group.count * (1.0 + group.dtype.unit_roundoff()).powf(group.count);
        if extreme == 0.0 { 0.0 } else { group.or_infinite(most) }
    };
    if group.least >= 0.0 {
        Some((group.most - group.flushed(), far(group.most)))
    } else if group.most <= 0.0 {
        Some((far(group.least), group.least + group.flushed()))
    } else {
        None
    }
}

/// A mean is between the extremes. The sum on the way to it may overflow.
pub fn mean(group: &Group) -> Option<(f64, f64)> {
    let slack = 32.0 * group.dtype.unit_roundoff() * group.size() + 4.0 * group.dtype.smallest() + group.flushed();
    let overflows = group.count * group.size() > group.dtype.max();
    (!overflows).then_some((group.least - slack, group.most + slack))
}

/// The logarithm of a sum of exponentials of `n` numbers is the largest of them, or larger by up to the logarithm of `n`.
pub fn log_sum_exp(group: &Group) -> (f64, f64) {
    let more = group.count.ln();
    let slack = 16.0 * group.dtype.unit_roundoff() * (group.size() + more + 1.0) + (group.growth() - 1.0);
    (group.or_infinite(group.most - slack), group.or_infinite(group.most + more + slack))
}

/// A norm of `n` numbers is the largest magnitude, or larger by up to the square root of `n`. Its squares may overflow and underflow.
pub fn norm(group: &Group) -> (f64, f64) {
    let (size, growth) = (group.size(), group.growth());
    let square = size * size;
    let low = if square < group.flushed().max(group.dtype.smallest()) / group.dtype.unit_roundoff() {
        0.0
    } else {
        size / growth
    };
    let overflows = square * group.count > group.dtype.max();
    (low, if overflows { f64::INFINITY } else { size * group.count.sqrt() * growth + group.flushed().sqrt() })
}

/// The variance of `n` numbers is at most that of numbers at both ends of their range (Popoviciu), by `n - 1` in place of `n`.
pub fn variance(group: &Group) -> Option<(f64, f64)> {
    let (count, size) = (group.count, group.size());
    let overflows = count * size > group.dtype.max();
    if count < 2.0 || overflows {
        return None;
    }
    // How far the rounded mean may be off.
    let off = size * (group.growth() - 1.0);
    let most = ((group.most - group.least) / 2.0 + off).powi(2) * count / (count - 1.0) * group.growth();
    Some((0.0, group.or_infinite(most + group.flushed() + group.dtype.smallest())))
}

/// The first element of `output` that is outside the `range` of its group of `x`.
pub fn outside(range: Range, case: &Case, output: &Tensor) -> Option<String> {
    let x = case.tensor("x").filter(|x| DType::FLOATS.contains(&x.dtype) && output.dtype == x.dtype)?;
    let (numbers, results, groups) = (x.floats(), output.floats(), groups::of(case, x)?);
    if groups.len() != results.len() {
        return None;
    }
    groups.iter().zip(results).enumerate().find_map(|(element, (group, got))| {
        if group.is_empty() || !group.iter().all(|&at| numbers[at].is_finite()) {
            return None;
        }
        let (low, high) = range(&Group::of(x.dtype, group.iter().map(|&at| numbers[at])))?;
        (!(low..=high).contains(&got)).then(|| format!("element {element}: expected {low:?} to {high:?}, got {got:?}"))
    })
}
