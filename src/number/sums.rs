//! Sums of many terms: what a careful implementation makes of them in any order.

use super::{Num, SINGLE, accumulator, coarseness, format_of, is_held, scaled};
use crate::tensor::DType;

/// How many standard deviations the accumulated roundoff of a sum may reach. Roundoff errors of different signs make a sum of `n`
/// terms wrong by at most `LEVEL * sqrt(n)` roundoffs of its magnitude, apart from one sum in 10^8 of a million terms (N. J.
/// Higham and T. Mary, *A New Approach to Probabilistic Rounding Error Analysis*, 2019, theorem 3.1).
const LEVEL: f64 = 8.0;

/// How many equal terms a sum may add one by one. PyTorch's sums, and those of CUDA kernels, are made of parts that are shorter.
const LONGEST_CHAIN: f64 = (1 << 14) as f64;

impl Num {
    /// A sum of many terms, accumulated in at least `f32` (8-bit floats: [`accumulator`]) and in any order, as PyTorch and candle's
    /// CUDA kernels do; one rounding to the dtype at the end. Exact if no partial sum in any order is rounded.
    pub fn sum(terms: impl IntoIterator<Item = Self>) -> Self {
        let mut terms_so_far = Accumulated::default();
        terms.into_iter().for_each(|term| terms_so_far.add(term));
        terms_so_far.total()
    }

    /// The sum of the products of pairs, none of which is rounded to a dtype below `f32`: a dot product as matrix products and
    /// convolutions compute it. One rounding to the dtype at the end.
    pub fn dot(pairs: impl IntoIterator<Item = (Self, Self)>) -> Self {
        let mut unit = 0.0_f64;
        let product = |(a, b): (Self, Self)| {
            unit = unit.max(a.unit).max(b.unit);
            a.widened() * b.widened()
        };
        Self::sum(pairs.into_iter().map(product)).stored(unit)
    }

    /// The mean, accumulated as [`Num::sum`] does.
    pub fn mean(terms: &[Self]) -> Self {
        Self::accumulated(terms, |terms| Self::sum(terms.iter().copied()) / Self::exact(terms.len() as f64))
    }

    /// `f` of `terms`, computed in at least `f32`; one rounding to the dtype of the terms at the end.
    pub fn accumulated(terms: &[Self], f: impl Fn(&[Self]) -> Self) -> Self {
        Self::fused(terms, |terms| vec![f(terms)])[0]
    }

    /// `f` of a row, computed in at least `f32`; one rounding of each result to the dtype of the row at the end.
    pub fn fused(row: &[Self], f: impl Fn(&[Self]) -> Vec<Self>) -> Vec<Self> {
        let unit = row.iter().fold(0.0, |unit: f64, term| unit.max(term.unit));
        let wide: Vec<Self> = row.iter().map(|term| term.widened()).collect();
        f(&wide).into_iter().map(|result| result.stored(unit)).collect()
    }

    /// This number, as an operand of a computation in at least `f32`, unless it is an 8-bit float.
    fn widened(self) -> Self {
        let Some(dtype @ (DType::F16 | DType::Bf16)) = format_of(self.unit) else { return self };
        let overflows = self.peak > dtype.max() || (self.value.is_finite() && self.value.abs() > dtype.max());
        let peak = if overflows { f64::INFINITY } else { self.peak };
        Self { unit: SINGLE, peak, ..self }
    }

    /// This result of a computation in its own format, rounded to the format with this unit roundoff, in which later steps compute.
    /// Intermediate results need not fit that format.
    fn stored(self, unit: f64) -> Self {
        if unit <= self.unit {
            return self;
        }
        let largest = format_of(self.unit).map_or(f64::INFINITY, DType::max);
        let overflows = self.peak > largest || (self.value.is_finite() && self.value.abs() > largest);
        let wide = Self { unit, ..self };
        let rounded = Self::rounded(self.value, true, self.error, self.slope, self.slope_error, &[wide]);
        // A peak that fits `f32` is no overflow. It stays above 0, since the number was computed and not copied.
        let peak = if overflows { f64::INFINITY } else { self.peak.min(unit) };
        Self { peak, ..rounded }
    }
}

/// A sum so far. Partial sums of a lane are totals at each of its elements.
#[derive(Debug, Clone, Copy)]
pub struct Accumulated {
    sum: Num,
    count: f64,
    magnitude: f64,
    /// The magnitude of the finite terms.
    finite: f64,
    slopes: f64,
    /// A power of two that divides every term so far; infinite before the first.
    grain: f64,
    /// The first term, while all have been equal.
    only: Option<f64>,
    has_nan: bool,
    has_infinity: bool,
}

impl Default for Accumulated {
    fn default() -> Self {
        let sum = Num::exact(0.0);
        Self {
            sum,
            count: 0.0,
            magnitude: 0.0,
            finite: 0.0,
            slopes: 0.0,
            grain: f64::INFINITY,
            only: None,
            has_nan: false,
            has_infinity: false,
        }
    }
}

impl Accumulated {
    /// Adds a term.
    pub fn add(&mut self, term: Num) {
        let sum = &mut self.sum;
        sum.value += term.value;
        sum.error += term.error;
        sum.slope += term.slope;
        sum.slope_error += term.slope_error;
        sum.kink |= term.kink;
        sum.indeterminate |= term.indeterminate;
        sum.peak = term.passed(sum.peak);
        sum.unit = sum.unit.max(term.unit);
        self.only = if self.count == 0.0 { Some(term.value) } else { self.only.filter(|only| *only == term.value) };
        self.magnitude += term.value.abs();
        self.finite += if term.value.is_finite() { term.value.abs() } else { 0.0 };
        self.slopes += term.slope.abs();
        self.grain = self.grain.min(if is_held(term.value, accumulator(term.unit)) { grain(term.value) } else { 0.0 });
        self.has_nan |= term.value.is_nan();
        self.has_infinity |= term.value.is_infinite();
        self.count += 1.0;
    }

    /// The sum of the terms so far.
    pub fn total(&self) -> Num {
        let accumulator = accumulator(self.sum.unit);
        // No partial sum in any order needs more bits than the accumulator has.
        let exact = self.sum.error == 0.0
            && scaled(accumulator, self.magnitude) <= self.grain
            && (accumulator > 0.0 || coarseness(self.magnitude) == 0.0);
        // The roundoffs of equal terms may all have one sign, as far as they are added one by one.
        let chain = if self.only.is_some() { LONGEST_CHAIN } else { 0.0 };
        let roundoffs = self.count.min(chain.max(LEVEL * self.count.sqrt()));
        let error = self.sum.error + if exact { 0.0 } else { scaled(accumulator * roundoffs, self.magnitude) };
        let slope_error = self.sum.slope_error + scaled(accumulator * roundoffs, self.slopes);
        let Num { value, slope, .. } = self.sum;
        let mut sum = Num::rounded(value, exact, error, slope, slope_error, &[self.sum]);
        let largest = format_of(accumulator).map_or(f64::INFINITY, DType::max);
        // The finite terms may overflow to the infinity of the other sign.
        let meet = self.has_infinity && self.finite > largest;
        sum.indeterminate |= !self.has_nan && (value.is_nan() || meet);
        // Partial sums in another order may be this large. Sums that only grow are no larger than the result.
        let cancels = self.magnitude > value.abs() && self.magnitude > largest;
        let overflows = value.is_infinite() && !self.has_infinity;
        sum.peak = match (overflows, cancels && self.magnitude.is_finite()) {
            (true, _) => f64::INFINITY,
            (false, true) => self.sum.peak.max(self.magnitude),
            (false, false) => self.sum.peak,
        };
        sum
    }
}

/// The largest power of two that divides `value`, which must not be subnormal. It is infinite for 0, NaN and infinities: sums with these
/// are not rounded.
fn grain(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return f64::INFINITY;
    }
    let bits = value.to_bits();
    let (exponent, significand) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1) | 1 << 52);
    f64::from(exponent - 1075 + significand.trailing_zeros() as i32).exp2()
}
