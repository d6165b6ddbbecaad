//! The laws of outputs, and the first element that breaks one.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::extremes::compared;
use super::totals::Range;
use super::{distribution, extremes, growth, rivals, standardized, totals};
use crate::case::{Case, Param};
use crate::number::accumulator;
use crate::ops::{Rule, rule};
use crate::tensor::{DType, Tensor, Value};

/// The condition on each element.
#[derive(Debug, Clone, Copy)]
pub enum Law {
    /// It is in this range.
    Within(f64, f64),
    /// It is no NaN if all inputs have elements, which are finite.
    NotNan,
    /// Of two elements of `x`, the larger one has no smaller result.
    InOrder,
    /// It is between the smallest and the largest element of this input, or 0, or it overflows.
    Average(&'static str),
    /// It is one of the elements that are written to its place.
    OneOfSources,
    /// It is the element of its group of `x` that compares so with all others.
    Extreme(Ordering),
    /// It is the position of such an element along the reduced dimension of `x`.
    Position(Ordering),
    /// Its row has each position once, in an order that sorts the numbers of `x`.
    Sorts,
    /// It is no further from the mean of its group than a standardized number can be, and no NaN.
    Standardized,
    /// Those of a row of finite numbers add up to 1: themselves, or if `logarithms` their exponentials.
    AddsUpToOne {
        /// True if the results are logarithms of probabilities.
        logarithms: bool,
    },
    /// It is in the range that its group of finite numbers of `x` allows.
    Total(Range),
    /// Along the dimension, none is smaller than the one before it, if no number of `x` is negative.
    Grows,
}

impl Law {
    /// The rule of outputs that breaks with it.
    pub fn rule(self) -> &'static Rule {
        match self {
            Self::Within(..) => &rule::OUTSIDE_RANGE,
            Self::NotNan => &rule::NAN,
            Self::InOrder | Self::Sorts | Self::Grows => &rule::OUT_OF_ORDER,
            Self::Average(_) => &rule::OUTSIDE_AVERAGE,
            Self::OneOfSources => &rule::NO_SOURCE,
            Self::AddsUpToOne { .. } => &rule::NOT_ONE,
            Self::Extreme(_) | Self::Position(_) | Self::Standardized | Self::Total(_) => &rule::OUTSIDE_RANGE,
        }
    }

    /// The condition on each element, as Rust code about a `value: f64`; `None` if it depends on several elements.
    pub fn condition(self) -> Option<String> {
        let number = |bound: f64| match bound {
            f64::INFINITY => "f64::INFINITY".to_string(),
            f64::NEG_INFINITY => "f64::NEG_INFINITY".to_string(),
            bound => format!("{bound:?}"),
        };
        match self {
            Self::Within(low, high) => Some(format!("({}..={}).contains(&value)", number(low), number(high))),
            Self::NotNan => Some("!value.is_nan()".to_string()),
            _ => None,
        }
    }

    /// The first element of `output` that breaks it.
    pub fn first_broken(self, case: &Case, output: &Tensor) -> Option<String> {
        match self {
            _ if !case.params.values().flat_map(Param::leaves).all(is_ordinary) => None,
            _ if case.inputs.values().any(Tensor::is_vast) => None,
            Self::Within(low, high) => outside(case, output, low, high),
            Self::NotNan => nan(case, output),
            Self::InOrder => out_of_order(case.tensor("x")?, output),
            Self::Average(input) => outside_average(case.tensor(input)?, output),
            Self::OneOfSources => none_of_sources(case, output),
            Self::Extreme(best) => extremes::not_extreme(best, false, case, output),
            Self::Position(best) => extremes::not_extreme(best, true, case, output),
            Self::Sorts => unsorted(case, output),
            Self::Standardized => standardized::outside(case, output),
            Self::AddsUpToOne { logarithms } => distribution::not_one(logarithms, case, output),
            Self::Total(range) => totals::outside(range, case, output),
            Self::Grows => growth::shrinking(case, output),
        }
    }
}

/// True if a param is a text or an ordinary number. Negative and infinite constants have laws of their own.
fn is_ordinary(param: &Param) -> bool {
    !matches!(param, Param::Number(value) if !(0.0..f64::INFINITY).contains(&value.as_f64()))
}

/// What roundings may add up to beside a result of this size.
fn slack(dtype: DType, size: f64) -> f64 {
    8.0 * dtype.unit_roundoff() * size + dtype.smallest()
}

/// True if a target is not a probability: the losses then have both signs, and overflow to either infinity.
fn is_improbable(case: &Case) -> bool {
    let is_probability = |target: &Tensor| target.floats().iter().all(|p| (0.0..=1.0).contains(p));
    case.op == "loss.binary_cross_entropy_with_logit" && !case.tensor("target").is_some_and(is_probability)
}

fn outside(case: &Case, output: &Tensor, low: f64, high: f64) -> Option<String> {
    if is_improbable(case) {
        return None;
    }
    let finite = |value: &f64| value.is_finite();
    let inputs = case.inputs.values().filter(|tensor| tensor.dtype.is_float());
    let largest = inputs.flat_map(Tensor::floats).filter(finite).fold(1.0, |most: f64, value| most.max(value.abs()));
    let slack = slack(output.dtype, largest);
    // A lower bound is reached near 0, where roundings are small.
    let below = slack.min((2.0 * output.dtype.unit_roundoff()).max(0.01) * (1.0 + low.abs()));
    let beyond = |value: f64| value < low - below || value > high + slack;
    let values = output.floats();
    let position = values.iter().position(|&value| beyond(value))?;
    Some(format!("element {position}: expected {low:?} to {high:?}, got {:?}", values[position]))
}

fn nan(case: &Case, output: &Tensor) -> Option<String> {
    let finite = |tensor: &Tensor| {
        let is_finite = tensor.values.listed().iter().all(|value| value.as_f64().is_finite());
        // The mean of nothing is NaN.
        is_finite && tensor.elements() != Some(0)
    };
    // The 8-bit float has no infinity, so its overflow is NaN.
    if output.dtype == DType::F8e4m3 || is_improbable(case) || !case.inputs.values().all(finite) {
        return None;
    }
    let position = output.floats().iter().position(|value| value.is_nan())?;
    Some(format!("element {position}: expected a number, as all inputs are finite; got NaN"))
}

fn out_of_order(x: &Tensor, output: &Tensor) -> Option<String> {
    let (x, y) = (x.floats(), output.floats());
    if x.len() != y.len() {
        return None;
    }
    let mut order: Vec<usize> = (0..x.len()).filter(|&place| !x[place].is_nan() && !y[place].is_nan()).collect();
    order.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
    let mut largest = *order.first()?;
    for &place in &order {
        if y[place] < y[largest] - slack(output.dtype, y[largest].abs().min(output.dtype.max())) {
            let (a, b) = (x[largest], x[place]);
            return Some(format!("for {a:?} it returns {:?}, for {b:?} only {:?}", y[largest], y[place]));
        }
        if y[place] > y[largest] {
            largest = place;
        }
    }
    None
}

fn outside_average(averaged: &Tensor, output: &Tensor) -> Option<String> {
    let of: Vec<f64> = averaged.floats();
    // Sums of integers wrap, as PyTorch's do.
    if !averaged.dtype.is_float() || !of.iter().all(|value| value.is_finite()) {
        return None;
    }
    // 0 where everything is masked.
    let (low, high) = of.iter().fold((0.0_f64, 0.0_f64), |(low, high), &value| (low.min(value), high.max(value)));
    let (size, unit) = (high.max(-low), output.dtype.unit_roundoff());
    // The products and the weights are two sums of at most so many.
    let slack = 4.0 * slack(output.dtype, size) + 2.0 * of.len() as f64 * accumulator(unit) * size;
    let values = output.floats();
    let beyond = |value: &f64| value.is_finite() && (*value < low - slack || *value > high + slack);
    let position = values.iter().position(beyond)?;
    Some(format!("element {position}: expected {low:?} to {high:?}, got {:?}", values[position]))
}

fn none_of_sources(case: &Case, output: &Tensor) -> Option<String> {
    let (written, sources, results) = (rivals::written(case), case.tensor("src")?.floats(), output.floats());
    if case.tensor("x")?.shape != output.shape {
        return None;
    }
    written.into_iter().find_map(|(place, from)| {
        let (got, sources) = (results[place], from.into_iter().map(|at| sources[at]).collect::<Vec<_>>());
        let is_got = |one: &f64| *one == got || (one.is_nan() && got.is_nan());
        (!sources.iter().any(is_got)).then(|| format!("element {place}: expected one of {sources:?}, got {got:?}"))
    })
}

fn unsorted(case: &Case, output: &Tensor) -> Option<String> {
    let x = case.tensor("x")?;
    let size = *x.shape.last().filter(|&&size| size > 0 && output.shape == x.shape)?;
    let exact: Vec<Value> = x.expanded();
    let ids = output.ints();
    let breaks = |(row, ids): (usize, &[i64])| {
        let places: HashSet<usize> = ids.iter().filter_map(|&id| usize::try_from(id).ok()).collect();
        if places.len() < size || places.iter().any(|&place| place >= size) {
            return Some(format!("row {row}: expected each position below {size} once, got {ids:?}"));
        }
        let numbers = ids.iter().map(|&id| exact[row * size + id as usize]).filter(|value| !value.as_f64().is_nan());
        let numbers: Vec<Value> = numbers.collect();
        let wrong = if case.int("asc") != 0 { Ordering::Greater } else { Ordering::Less };
        let pair = numbers.windows(2).find(|pair| compared(pair[0], pair[1]) == Some(wrong))?;
        Some(format!("row {row}: {:?} is before {:?}", pair[0].as_f64(), pair[1].as_f64()))
    };
    ids.chunks(size).enumerate().find_map(breaks)
}
