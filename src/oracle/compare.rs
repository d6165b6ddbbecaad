//! Compares one value with its reference. The running error bound is the tolerance.

use crate::number::Num;
use crate::tensor::DType;

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Within the bound.
    Same,
    /// Unspecified: an intermediate overflows the dtype, or an infinity went through arithmetic.
    Unknown,
    /// Outside the bound.
    Different,
}

/// Compares `got` of `dtype` with `want`, allowing `factor` times its error bound. `infinite_inputs` says that an input
/// was infinite: the result of arithmetic on it depends on the order of evaluation.
pub fn compare(want: &Num, got: f64, dtype: DType, factor: f64, infinite_inputs: bool) -> Agreement {
    close(want.value, want.error, want, got, dtype, factor, infinite_inputs)
}

/// Compares the derivative `got` with the slope of `want`.
pub fn compare_slope(want: &Num, got: f64, dtype: DType, factor: f64) -> Agreement {
    if want.kink || !want.value.is_finite() || !want.slope.is_finite() {
        return Agreement::Unknown;
    }
    close(want.slope, want.slope_error, want, got, dtype, factor, false)
}

fn close(value: f64, error: f64, want: &Num, got: f64, dtype: DType, factor: f64, infinite_inputs: bool) -> Agreement {
    if error == 0.0 && want.peak == 0.0 {
        // No arithmetic: a copied value must be the same value, non-finite or not.
        return same(value == got || (value.is_nan() && got.is_nan()));
    }
    if dtype.int_range().is_some_and(|(low, high)| value < low as f64 || value > high as f64) {
        return Agreement::Unknown;
    }
    let bound = bound(error, dtype, factor);
    if infinite_inputs || bound.is_nan() || want.peak.max(value.abs()) + bound > dtype.max() {
        return Agreement::Unknown;
    }
    if value.is_nan() {
        return same(got.is_nan());
    }
    same((got - value).abs() <= bound)
}

/// The tolerance for a value of `dtype`. The reference itself is computed in `f64`: for that dtype both sides have rounding
/// errors.
pub fn bound(error: f64, dtype: DType, factor: f64) -> f64 {
    if dtype == DType::F64 { 4.0 * factor * error } else { factor * error }
}

fn same(same: bool) -> Agreement {
    if same { Agreement::Same } else { Agreement::Different }
}
