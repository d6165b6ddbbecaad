//! The operators of [`Num`], with the error bounds of their results.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{Num, scaled, underflow};

impl Add for Num {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let value = self.value + other.value;
        let slope = self.slope + other.slope;
        Self::rounded(value, self.error + other.error, slope, self.slope_error + other.slope_error, &[self, other])
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
        Self::rounded(a.value * b.value, error, left + right, slope_error, &[a, b])
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
            quotient.peak = self.peak.max(if self.value.is_finite() { quotient.value.abs() } else { 0.0 });
        }
        quotient
    }
}
