//! The operators of [`Num`], with the error bounds of their results.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{Num, scaled, underflow};

impl Add for Num {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let value = self.value + other.value;
        let slope = self.slope + other.slope;
        let exact = is_exact_sum(self.value, other.value, value);
        let slope_error = self.slope_error + other.slope_error;
        Self::rounded(value, exact, self.error + other.error, slope, slope_error, &[self, other])
            .overflowing(&[self, other])
    }
}

impl Sub for Num {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Neg for Num {
    type Output = Self;
    fn neg(self) -> Self {
        Self { value: -self.value, slope: -self.slope, ..self }
    }
}

impl Mul for Num {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let (a, b) = (self, other);
        let error = scaled(a.error, b.value).abs() + scaled(b.error, a.value).abs() + scaled(a.error, b.error);
        let (left, right) = (scaled(a.slope, b.value), scaled(b.slope, a.value));
        let slope_error = scaled(a.slope_error, b.value).abs()
            + scaled(b.slope_error, a.value).abs()
            + scaled(a.error, b.slope).abs()
            + scaled(b.error, a.slope).abs()
            + scaled(a.error, b.slope_error)
            + scaled(b.error, a.slope_error)
            + scaled(a.unit.max(b.unit), left.abs() + right.abs());
        let value = a.value * b.value;
        // What is left of a tiny product may underflow itself.
        let has_rest = value.abs() >= f64::MIN_POSITIVE / f64::EPSILON || a.value == 0.0 || b.value == 0.0;
        let exact = has_rest && a.value.mul_add(b.value, -value) == 0.0;
        let product = Self::rounded(value, exact, error, left + right, slope_error, &[a, b]).overflowing(&[a, b]);
        // An infinity times what may as well be 0.
        let unclear = |a: Self, b: Self| a.value.is_infinite() && b.error > 0.0 && b.value.abs() <= b.error;
        Self { indeterminate: product.indeterminate || unclear(a, b) || unclear(b, a), ..product }
    }
}

impl Div for Num {
    type Output = Self;
    #[allow(clippy::suspicious_arithmetic_impl)] // a / b = a * (1 / b), whose bounds are already there.
    fn div(self, other: Self) -> Self {
        let inverse = other.value.recip();
        let reciprocal = other.map(inverse, -inverse * inverse, 2.0 * inverse * inverse * inverse, 0.0);
        let mut quotient = self * reciprocal;
        quotient.value = self.value / other.value;
        if other.slope == 0.0 && other.error == 0.0 {
            // Division by an exact constant rounds once, and an overflow of the reciprocal must not matter.
            let unit = quotient.unit;
            quotient.error = scaled(self.error, inverse.abs()) + scaled(unit, quotient.value.abs()) + underflow(unit);
            quotient.slope = self.slope / other.value;
            quotient.slope_error = scaled(self.slope_error, inverse.abs()) + scaled(unit, quotient.slope.abs());
            quotient.peak = self.passed(other.peak);
        }
        if inverse != 0.0 && !(inverse * inverse).is_normal() {
            // The square of the reciprocal underflows where the slope need not.
            let [first, second] = [self.slope / other.value, quotient.value * (other.slope / other.value)];
            quotient.slope = first - second;
            quotient.slope_error = scaled(8.0 * quotient.unit, first.abs() + second.abs())
                + scaled(self.slope_error, inverse.abs())
                + scaled(other.slope_error, (quotient.value * inverse).abs());
        }
        // 0 / 0 is NaN whichever way it is computed, but the reciprocal of 0 is an infinity.
        let is_pole = |number: &Self| number.error > 0.0 && number.value.abs() <= number.error;
        quotient.indeterminate = self.indeterminate
            || other.indeterminate
            || (quotient.value.is_nan() && self.value.is_infinite() && other.value.is_infinite())
            || is_pole(&other)
            // The sign of a 0 that was computed is open.
            || other.value == 0.0 && other.peak > 0.0
            || is_pole(&self) && other.value == 0.0;
        quotient
    }
}

impl Num {
    /// This sum or product. If it left the range of `f64`, later results are open: another order of evaluation may not.
    fn overflowing(self, from: &[Self]) -> Self {
        let overflows = self.value.is_infinite() && from.iter().all(|operand| operand.value.is_finite());
        if overflows { Self { peak: f64::INFINITY, ..self } } else { self }
    }
}

/// Whether `sum` is `a + b` without rounding (D. E. Knuth's two-sum).
fn is_exact_sum(a: f64, b: f64, sum: f64) -> bool {
    let share = sum - a;
    (a - (sum - share)) + (b - share) == 0.0
}
