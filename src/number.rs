//! A number that knows how wrong a correct computation of it may be, and its own derivative.
//!
//! References are written once, as plain formulas over [`Num`], and give three results:
//!
//! * `value`: the result in `f64`;
//! * `error`: a first-order running error bound (N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd
//!   ed., section 3.3) for a correct evaluation of the same formula in the working dtype;
//! * `slope` and `slope_error`: the derivative in one direction by forward-mode differentiation, with its own bound.
//!
//! `peak` is the largest intermediate magnitude: if it overflows the dtype, nothing is promised. `kink` says that the
//! derivative does not exist or is a convention there (|0|, a tied maximum).

mod arithmetic;
mod functions;

use crate::tensor::DType;

/// The unit roundoff of `f32`: sums are accumulated at least this precisely.
pub const SINGLE: f64 = 1.0 / (1 << 24) as f64;

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
    /// The largest magnitude of an intermediate result with finite operands.
    pub peak: f64,
    /// Whether the derivative is undefined or a convention here.
    pub kink: bool,
    /// The unit roundoff of the working dtype: the coarsest of the operands', 0 for exact constants.
    pub unit: f64,
}

impl Num {
    /// An exact constant.
    pub const fn exact(value: f64) -> Self {
        Self { value, error: 0.0, slope: 0.0, slope_error: 0.0, peak: 0.0, kink: false, unit: 0.0 }
    }

    /// An input of a dtype with this unit roundoff, and its derivative in the chosen direction.
    pub const fn input(value: f64, slope: f64, unit: f64) -> Self {
        Self { slope, unit, ..Self::exact(value) }
    }

    /// The result of a rounding operation: `value` with propagated `error` and derivative, plus one roundoff of each.
    fn rounded(value: f64, error: f64, slope: f64, slope_error: f64, from: &[Self]) -> Self {
        let mut peak = from.iter().fold(0.0, |peak: f64, operand| peak.max(operand.peak));
        if from.iter().all(|operand| operand.value.is_finite()) {
            peak = peak.max(value.abs()).max(slope.abs());
        }
        let unit = from.iter().fold(0.0, |unit: f64, operand| unit.max(operand.unit));
        Self {
            value,
            error: error + scaled(unit, value.abs()) + underflow(unit),
            slope,
            slope_error: slope_error + scaled(unit, slope.abs()) + underflow(unit),
            peak,
            kink: from.iter().any(|operand| operand.kink),
            unit,
        }
    }

    /// A function of one number by its value and first two derivatives; `accuracy` is the error of its evaluation in
    /// units of the result's roundoff.
    fn map(self, value: f64, first: f64, second: f64, accuracy: f64) -> Self {
        let own = accuracy * self.unit;
        let error = scaled(self.error, first.abs()) + scaled(own, value.abs());
        let slope = scaled(self.slope, first);
        let curvature = scaled(self.error, scaled(self.slope, second).abs());
        let slope_error = scaled(self.slope_error, first.abs()) + curvature + scaled(own, slope.abs());
        Self::rounded(value, error, slope, slope_error, &[self])
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
        self.map(self.value.ln(), inverse, -inverse * inverse, 2.0)
    }

    /// The square root.
    #[must_use]
    pub fn sqrt(self) -> Self {
        let value = self.value.sqrt();
        self.map(value, 0.5 / value, -0.25 / (value * self.value), 1.0)
    }

    /// The absolute value. A kink at 0.
    #[must_use]
    pub fn abs(self) -> Self {
        let sign = if self.value == 0.0 { 0.0 } else { self.value.signum() };
        let kink = self.kink || self.value == 0.0;
        Self { value: self.value.abs(), slope: scaled(self.slope, sign), kink, ..self }
    }

    /// The larger one; NaN if either is. A kink if both are equal within their errors, or if a slope is not finite.
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
            kink: self.kink || other.kink || close || pole,
            peak: self.peak.max(other.peak),
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

    /// A sum of many terms, accumulated in at least `f32` whatever the dtype and in any order, as PyTorch and candle's
    /// CUDA kernels do; one rounding to the dtype at the end.
    pub fn sum(terms: impl IntoIterator<Item = Self>) -> Self {
        let mut total = Self::exact(0.0);
        let (mut count, mut magnitude, mut slopes) = (0.0_f64, 0.0_f64, 0.0_f64);
        for term in terms {
            total.value += term.value;
            total.error += term.error;
            total.slope += term.slope;
            total.slope_error += term.slope_error;
            total.kink |= term.kink;
            total.peak = total.peak.max(term.peak);
            total.unit = total.unit.max(term.unit);
            magnitude += term.value.abs();
            slopes += term.slope.abs();
            count += 1.0;
        }
        // Partial sums in another order may be this large.
        if magnitude.is_finite() {
            total.peak = total.peak.max(magnitude).max(slopes);
        }
        let wide = total.unit.min(SINGLE) * count;
        let error = total.error + scaled(wide, magnitude);
        Self::rounded(total.value, error, total.slope, total.slope_error + scaled(wide, slopes), &[total])
    }

    /// The mean, summed as [`Num::sum`] does.
    pub fn mean(terms: &[Self]) -> Self {
        Self::sum(terms.iter().copied()) / Self::exact(terms.len() as f64)
    }

    /// `ln(sum(exp(terms)))` without overflow. In the derivative, subtracting and adding the largest term cancels, apart from the
    /// rounding of the sum that the backward pass sends to it.
    pub fn log_sum_exp(terms: &[Self]) -> Self {
        let most = terms.iter().fold(f64::NEG_INFINITY, |largest, term| largest.max(term.value));
        let largest = Self::exact(if most.is_finite() { most } else { 0.0 });
        let result = Self::sum(terms.iter().map(|&term| (term - largest).exp())).ln() + largest;
        let tied: Vec<f64> = terms.iter().filter(|term| term.value == most).map(|term| term.slope.abs()).collect();
        let share = tied.iter().sum::<f64>() / (tied.len() as f64).max(1.0);
        let residue = scaled(terms.len() as f64 * result.unit.min(SINGLE), share);
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
    let keeps_subnormals = matches!(dtype, DType::F16 | DType::F8e4m3);
    if keeps_subnormals { dtype.smallest() } else { dtype.smallest() / (2.0 * unit) }
}

/// The format with this unit roundoff.
fn format_of(unit: f64) -> Option<DType> {
    let dtypes = [DType::F32, DType::F64, DType::F16, DType::Bf16, DType::F8e4m3];
    dtypes.into_iter().find(|dtype| dtype.unit_roundoff() == unit)
}

/// `a * b`, but 0 if `a` is exactly 0: no error or slope stays none even times infinity.
fn scaled(a: f64, b: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a * b }
}
