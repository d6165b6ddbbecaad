//! Compares one value with its reference. The running error bound is the tolerance.

use crate::number::Num;
use crate::tensor::DType;

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Within the bound.
    Same,
    /// Unspecified: an intermediate overflows the dtype, or infinities went through arithmetic whose order decides.
    Unknown,
    /// Outside the bound.
    Different,
}

/// Compares `got` of `dtype` with `want`, allowing `factor` times its error bound. NaN and infinities must be the same.
pub fn compare(want: &Num, got: f64, dtype: DType, factor: f64) -> Agreement {
    let value = want.value;
    if want.indeterminate || (value.is_infinite() && !holds_infinity(dtype)) {
        return Agreement::Unknown;
    }
    if want.error == 0.0 && want.peak == 0.0 {
        // No arithmetic: a copied value must be the same value, non-finite or not.
        return same(value == got || (value.is_nan() && got.is_nan()));
    }
    if dtype.int_range().is_some_and(|(low, high)| value < low as f64 || value > high as f64) {
        return Agreement::Unknown;
    }
    if want.peak > dtype.max() {
        return Agreement::Unknown;
    }
    if value.is_nan() {
        // Integers have no NaN.
        return if dtype.is_float() { same(got.is_nan()) } else { Agreement::Unknown };
    }
    let value = expected(want, dtype, factor);
    if value.is_infinite() {
        return same(got == value);
    }
    within(value, want.error, got, dtype, factor)
}

/// Compares the derivative `got` with the slope of `want`.
pub fn compare_slope(want: &Num, got: f64, dtype: DType, factor: f64) -> Agreement {
    // The backward pass multiplies by the weights of outputs on the way, which are at most 4.
    let largest = 16.0 * want.peak.max(want.value.abs());
    let is_finite = want.value.is_finite() && want.slope.is_finite();
    if want.kink || want.indeterminate || !is_finite || largest > dtype.max() {
        return Agreement::Unknown;
    }
    within(want.slope, want.slope_error, got, dtype, factor)
}

fn within(value: f64, error: f64, got: f64, dtype: DType, factor: f64) -> Agreement {
    let bound = bound(error, dtype, factor);
    if bound.is_nan() || value.abs() + bound > dtype.max() {
        return Agreement::Unknown;
    }
    same((got - value).abs() <= bound)
}

/// The value of `want`, or the infinity that it rounds to if all of its interval is too large for `dtype` (IEEE 754-2019, 7.4).
pub fn expected(want: &Num, dtype: DType, factor: f64) -> f64 {
    let least = want.value.abs() - bound(want.error, dtype, factor);
    let overflows = holds_infinity(dtype) && least > dtype.max() * (1.0 + 2.0 * dtype.unit_roundoff());
    if overflows { f64::INFINITY.copysign(want.value) } else { want.value }
}

/// Whether a result of `dtype` can be infinite: not of integers, nor of the 8-bit float.
fn holds_infinity(dtype: DType) -> bool {
    dtype.is_float() && dtype != DType::F8e4m3
}

/// The tolerance for a value of `dtype`. The reference itself is computed in `f64`: for that dtype both sides have rounding
/// errors.
pub fn bound(error: f64, dtype: DType, factor: f64) -> f64 {
    if dtype == DType::F64 { 4.0 * factor * error } else { factor * error }
}

fn same(same: bool) -> Agreement {
    if same { Agreement::Same } else { Agreement::Different }
}
