//! A number that knows how wrong a correct computation of it may be, and its own derivative.
//!
//! References are written once, as plain formulas over [`Num`], and give three results:
//!
//! * `value`: the result in `f64`;
//! * `error`: a first-order running error bound (N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd
//!   ed., section 3.3) for a correct evaluation of the same formula in the working dtype;
//! * `slope` and `slope_error`: the derivative in one direction by forward-mode differentiation, with its own bound.
//!
//! `peak` is the largest magnitude on the way to the result: if it overflows the dtype, nothing is promised. `indeterminate` says that
//! an infinity met another or a zero, so that the order of evaluation decides. `kink` says that the derivative does not exist or is
//! a convention there (|0|, a tied maximum).

mod arithmetic;
mod functions;
mod sums;

use crate::tensor::DType;

pub use functions::REACH;
pub use sums::Accumulated;

/// The unit roundoff of `f32`: sums are accumulated at least this precisely.
pub const SINGLE: f64 = 1.0 / (1 << 24) as f64;

/// All integers up to this one are `f64`s.
const EXACT_INTEGERS: f64 = (1_u64 << 53) as f64;

/// A number with a running error bound and a directional derivative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Num {
    /// The value in `f64`.
    pub value: f64,
    /// The bound on the absolute error.
    pub error: f64,
    /// The derivative in the direction that the inputs carry.
    pub slope: f64,
    /// The bound on the derivative's absolute error.
    pub slope_error: f64,
    /// The largest magnitude of the intermediate results with finite operands, not counting this result.
    pub peak: f64,
    /// Whether the value depends on the order of evaluation: NaN from infinities and zeros, or a pole within the error.
    pub indeterminate: bool,
    /// Whether the derivative is undefined or a convention here.
    pub kink: bool,
    /// The unit roundoff of the working dtype: the coarsest of the operands', 0 for exact constants.
    pub unit: f64,
}

impl Num {
    /// An exact constant.
    pub const fn exact(value: f64) -> Self {
        let (error, slope, slope_error, peak, unit) = (0.0, 0.0, 0.0, 0.0, 0.0);
        Self { value, error, slope, slope_error, peak, indeterminate: false, kink: false, unit }
    }

    /// An input of a dtype with this unit roundoff, and its derivative in the chosen direction.
    pub const fn input(value: f64, slope: f64, unit: f64) -> Self {
        Self { slope, unit, ..Self::exact(value) }
    }

    /// The result of an operation: `value` with propagated `error` and derivative, plus one roundoff of each. `exact` says that
    /// the operation in `f64` was exact: if the format holds the result of exact operands too, there is no error.
    fn rounded(value: f64, exact: bool, error: f64, slope: f64, slope_error: f64, from: &[Self]) -> Self {
        let unit = from.iter().fold(0.0, |unit: f64, operand| unit.max(operand.unit));
        let is_exact = exact && error == 0.0 && is_held(value, unit);
        let own = match () {
            () if is_exact => 0.0,
            () if unit == 0.0 => coarseness(value),
            () => scaled(unit, value.abs()) + underflow(unit),
        };
        // The product of an error without bound and 0.
        let or_unbounded = |error: f64| if error.is_nan() { f64::INFINITY } else { error };
        let any = |is: fn(f64) -> bool| from.iter().any(|operand| is(operand.value));
        Self {
            value,
            // An infinity is either certain, or marked as indeterminate.
            error: if value.is_finite() { or_unbounded(error + own) } else { 0.0 },
            slope,
            slope_error: or_unbounded(slope_error + scaled(unit, slope.abs()) + underflow(unit)),
            peak: from.iter().fold(0.0, |peak, operand| operand.passed(peak)),
            // What is NaN without a NaN is certain only without an infinity: the square root of -1.
            indeterminate: from.iter().any(|operand| operand.indeterminate)
                || (value.is_nan() && any(f64::is_infinite) && !any(f64::is_nan)),
            kink: from.iter().any(|operand| operand.kink),
            unit,
        }
    }

    /// The largest magnitude on the way to a result that is computed from this number: at least `peak`.
    fn passed(&self, peak: f64) -> f64 {
        let finite = |value: f64| if value.is_finite() { value.abs() } else { 0.0 };
        peak.max(self.peak).max(finite(self.value)).max(finite(self.slope))
    }

    /// A function of one number by its value and first two derivatives; `accuracy` is the error of its evaluation in
    /// units of the result's roundoff.
    fn map(self, value: f64, first: f64, second: f64, accuracy: f64) -> Self {
        let own = accuracy * self.unit;
        let error = scaled(self.error, first.abs()) + scaled(own, value.abs());
        let slope = scaled(self.slope, first);
        let curvature = scaled(self.error, scaled(self.slope, second).abs());
        let slope_error = scaled(self.slope_error, first.abs()) + curvature + scaled(own, slope.abs());
        // A pole, or the end of the domain, may lie within the error.
        let unclear =
            !value.is_finite() && self.value.is_finite() && self.error > 0.0 && self.value.abs() <= self.error;
        let result = Self::rounded(value, false, error, slope, slope_error, &[self]);
        // At a pole of the derivative even a slope of 0 may become NaN.
        let kink = result.kink || !first.is_finite();
        Self { indeterminate: result.indeterminate || unclear, kink, ..result }
    }

    /// `e^self`.
    #[must_use]
    pub fn exp(self) -> Self {
        let value = self.value.exp();
        self.map(value, value, value, 2.0)
    }

    /// The natural logarithm.
    #[must_use]
    pub fn ln(self) -> Self {
        let inverse = self.value.recip();
        let result = self.map(self.value.ln(), inverse, -inverse * inverse, 2.0);
        // The pole may be the number that an implementation gets.
        Self { indeterminate: result.indeterminate || (self.value > 0.0 && self.value <= self.error), ..result }
    }

    /// The square root.
    #[must_use]
    pub fn sqrt(self) -> Self {
        let value = self.value.sqrt();
        self.map(value, 0.5 / value, -0.25 / (value * self.value), 1.0)
    }

    /// The absolute value. A kink at 0, unless it stays there.
    #[must_use]
    pub fn abs(self) -> Self {
        let sign = if self.value == 0.0 { 0.0 } else { self.value.signum() };
        let kink = self.kink || (self.value == 0.0 && self.slope != 0.0);
        Self { value: self.value.abs(), slope: scaled(self.slope, sign), kink, ..self }
    }

    /// The larger one; NaN if either is. A kink if both are equal within their errors and move apart, or if a slope is not finite.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        let larger = if self.value.is_nan() || self.value > other.value { self } else { other };
        // Within their errors, either may be the larger one.
        let close = (self.value - other.value).abs() <= self.error + other.error;
        let pole = !(self.slope.is_finite() && other.slope.is_finite());
        let either = |own: f64, this: f64, that: f64| if close { this.max(that) } else { own };
        Self {
            error: either(larger.error, self.error, other.error),
            slope_error: either(larger.slope_error, self.slope_error, other.slope_error),
            kink: self.kink || other.kink || (close && self.slope != other.slope) || pole,
            peak: self.peak.max(other.peak),
            indeterminate: self.indeterminate || other.indeterminate,
            // Later steps round to this dtype even if the larger operand was constant.
            unit: self.unit.max(other.unit),
            ..larger
        }
    }

    /// This number, read `times` by an index op. Its gradient is a sum of as many terms, which PyTorch's CPU backend also adds
    /// one by one in the dtype itself.
    #[must_use]
    pub fn read_often(self, times: usize) -> Self {
        let added = (times.saturating_sub(1)) as f64 * self.unit * self.slope.abs();
        Self { slope_error: self.slope_error + added, ..self }
    }

    /// `ln(sum(exp(terms)))` without overflow. In the derivative, subtracting and adding the largest term cancels, apart from the
    /// rounding of the sum that the backward pass sends to it.
    pub fn log_sum_exp(terms: &[Self]) -> Self {
        let most = terms.iter().fold(f64::NEG_INFINITY, |largest, term| largest.max(term.value));
        let largest = Self::exact(if most.is_finite() { most } else { 0.0 });
        let result = Self::sum(terms.iter().map(|&term| (term - largest).exp())).ln() + largest;
        let tied: Vec<f64> = terms.iter().filter(|term| term.value == most).map(|term| term.slope.abs()).collect();
        let share = tied.iter().sum::<f64>() / (tied.len() as f64).max(1.0);
        let residue = scaled(terms.len() as f64 * accumulator(result.unit), share);
        Self { slope_error: result.slope_error + residue, ..result }
    }

    /// The value and derivative of `precise` with the error bounds of `self`: for a formula that an implementation may
    /// legitimately evaluate in a less stable way. If the unstable way has no finite bound, the bound of `precise` is used alone.
    #[must_use]
    pub fn valued(self, precise: Self) -> Self {
        let or = |bound: f64, other: f64| if bound.is_finite() { bound.max(other) } else { other };
        Self {
            error: or(self.error, precise.error),
            slope_error: or(self.slope_error, precise.slope_error),
            kink: self.kink || precise.kink,
            ..precise
        }
    }

    /// Whether this number and `other` are equal, or may be within their errors.
    pub fn may_equal(&self, other: &Self) -> bool {
        self.value == other.value || (self.value - other.value).abs() <= self.error + other.error
    }

    /// Whether the dtype of this number has no room for `value`.
    pub fn is_exceeded_by(&self, value: f64) -> bool {
        format_of(self.unit).is_some_and(|dtype| value.abs() > dtype.max())
    }

    /// The same number, as a constant of differentiation.
    #[must_use]
    pub fn detached(self) -> Self {
        Self { slope: 0.0, slope_error: 0.0, ..self }
    }
}

/// The error from underflow of an operation in the format with this unit roundoff: the smallest positive number, or the
/// smallest normal one in formats that hardware may flush to zero.
fn underflow(unit: f64) -> f64 {
    let Some(dtype) = format_of(unit) else { return 0.0 };
    if keeps_subnormals(dtype) { dtype.smallest() } else { normal(dtype) }
}

/// How far an integer may be from `value`, which `f64` rounded it to.
pub fn coarseness(value: f64) -> f64 {
    if value.abs() < EXACT_INTEGERS { 0.0 } else { f64::EPSILON * value.abs() }
}

/// Whether the format with this unit roundoff holds `value` exactly, and hardware does not flush it to zero.
fn is_held(value: f64, unit: f64) -> bool {
    let Some(dtype) = format_of(unit) else { return true };
    dtype.round(value) == value && (value == 0.0 || keeps_subnormals(dtype) || value.abs() >= normal(dtype))
}

/// Whether hardware computes with the subnormal numbers of a format, and never flushes them to zero.
fn keeps_subnormals(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::F8e4m3)
}

/// The smallest normal number of a format.
fn normal(dtype: DType) -> f64 {
    dtype.smallest() / (2.0 * dtype.unit_roundoff())
}

/// The format with this unit roundoff.
fn format_of(unit: f64) -> Option<DType> {
    let dtypes = [DType::F32, DType::F64, DType::F16, DType::Bf16, DType::F8e4m3];
    dtypes.into_iter().find(|dtype| dtype.unit_roundoff() == unit)
}

/// The unit roundoff that sums of terms in the format with this one are accumulated with: at least that of `f32`. PyTorch does not
/// add 8-bit floats up, so of these nothing wider than their own is promised.
pub fn accumulator(unit: f64) -> f64 {
    if format_of(unit) == Some(DType::F8e4m3) { unit } else { unit.min(SINGLE) }
}

/// `a * b`, but 0 if `a` is exactly 0: no error or slope stays none even times infinity.
fn scaled(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a * b }
}
