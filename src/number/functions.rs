//! Functions of one number, for elementwise ops and activations.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, FRAC_2_SQRT_PI};

use super::{Num, format_of, scaled};

/// How far around a value to look for jumps of a step function, in error bounds: farther than any op's tolerance.
pub const REACH: f64 = 64.0;

impl Num {
    /// A number of unknown value.
    pub const fn unknown() -> Self {
        Self { error: f64::INFINITY, slope_error: f64::INFINITY, kink: true, ..Self::exact(0.0) }
    }

    /// A constant of a formula that is evaluated in the format with this unit roundoff, and rounded to it.
    pub fn constant(value: f64, unit: f64) -> Self {
        if !value.is_finite() {
            return Self { unit, ..Self::exact(value) };
        }
        let error = format_of(unit).map_or(0.0, |dtype| (dtype.round(value) - value).abs());
        Self { error, peak: value.abs(), unit, ..Self::exact(value) }
    }

    /// An argument of a call in the format with this unit roundoff: rounded to it first, as callers in Rust and PyTorch do.
    pub fn argument(value: f64, unit: f64) -> Self {
        Self { unit, ..Self::exact(format_of(unit).map_or(value, |dtype| dtype.round(value))) }
    }

    /// Like [`Num::map`], with the absolute error of evaluating the first derivative, in units of roundoff.
    fn derived(self, value: f64, first: f64, second: f64, accuracy: f64, first_error: f64) -> Self {
        let mapped = self.map(value, first, second, accuracy);
        let slope_error = mapped.slope_error + scaled(self.slope.abs(), first_error * self.unit);
        Self { slope_error, ..mapped }
    }

    /// The reciprocal.
    #[must_use]
    pub fn recip(self) -> Self {
        Self::exact(1.0) / self
    }

    /// The square.
    #[must_use]
    pub fn sqr(self) -> Self {
        self * self
    }

    /// The sine.
    #[must_use]
    pub fn sin(self) -> Self {
        let (sin, cos) = self.value.sin_cos();
        self.map(sin, cos, -sin, 2.0)
    }

    /// The cosine.
    #[must_use]
    pub fn cos(self) -> Self {
        let (sin, cos) = self.value.sin_cos();
        self.map(cos, -sin, -cos, 2.0)
    }

    /// The hyperbolic tangent. Its derivative is 1 - tanh^2 of the rounded tanh.
    #[must_use]
    pub fn tanh(self) -> Self {
        let value = self.value.tanh();
        let first = self.value.cosh().powi(-2);
        // Where the tanh rounds to 1, the difference is 0 instead of the small rest.
        let lost = first < self.unit * self.unit;
        let rounding = if lost { 2.0 * first / self.unit } else { 8.0 * value * value };
        self.derived(value, first, -2.0 * value * first, 2.0, rounding)
    }

    /// The error function.
    #[must_use]
    pub fn erf(self) -> Self {
        let square = self.value * self.value;
        let first = FRAC_2_SQRT_PI * (-square).exp();
        // The exponent is rounded before it is exponentiated.
        let rounding = if first == 0.0 { 0.0 } else { first * (2.0 + square) };
        self.derived(erf(self.value), first, scaled(first, -2.0 * self.value), 2.0, rounding)
    }

    /// `self^exponent`. The exponent may be rounded to the format of this number.
    #[must_use]
    pub fn powf(self, exponent: f64) -> Self {
        if !exponent.is_finite() {
            return self.step(|x| x.powf(exponent));
        }
        let rounded = format_of(self.unit).map_or(exponent, |dtype| dtype.round(exponent));
        let (power, other) = (self.to_power(exponent), self.to_power(rounded));
        if power.value.is_finite() != other.value.is_finite() {
            return Self::unknown();
        }
        // Equal infinities do not differ.
        let between = |a: f64, b: f64| if a == b || a.is_nan() && b.is_nan() { 0.0 } else { (a - b).abs() };
        Self {
            error: power.error + between(power.value, other.value),
            slope_error: power.slope_error + between(power.slope, other.slope),
            kink: power.kink || other.kink,
            ..power
        }
    }

    /// `self^exponent` for an exact exponent.
    fn to_power(self, exponent: f64) -> Self {
        let term = |factor: f64, exponent: f64| scaled(factor, self.value.powf(exponent));
        let first = term(exponent, exponent - 1.0);
        self.map(term(1.0, exponent), first, term(exponent * (exponent - 1.0), exponent - 2.0), 2.0)
    }

    /// The smaller one; NaN if either is. A kink where both are equal and move apart.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        -(-self).max(-other)
    }

    /// A function that is constant between jumps. Its derivative is 0; next to a jump, its value is unknown.
    #[must_use]
    pub fn step(self, f: impl Fn(f64) -> f64) -> Self {
        let reach = scaled(self.error, REACH);
        if self.error > 0.0 && f(self.value - reach) != f(self.value + reach) {
            return Self::unknown();
        }
        let value = f(self.value);
        // A step of an exact number is exact, unless there was an overflow on the way to it.
        let is_exact = self.error == 0.0 && !self.is_exceeded_by(self.peak);
        let peak = if is_exact { 0.0 } else { self.peak };
        Self { value, error: 0.0, slope: 0.0, slope_error: 0.0, peak, ..self }
    }

    /// -1, 0 or 1. PyTorch's `sign` of NaN is not documented.
    #[must_use]
    pub fn sign(self) -> Self {
        if self.value.is_nan() {
            return Self::unknown();
        }
        self.step(|x| if x == 0.0 { 0.0 } else { x.signum() })
    }

    /// The logistic function, `1 / (1 + e^-x)`.
    #[must_use]
    pub fn sigmoid(self) -> Self {
        if self.value.is_infinite() {
            return self.limit(if self.value > 0.0 { 1.0 } else { 0.0 });
        }
        let sigmoid = (Self::exact(1.0) + (-self).exp()).recip();
        // Its derivative is y - y^2 of the rounded y.
        let slope_error = sigmoid.slope_error + scaled(self.slope.abs(), 4.0 * self.unit);
        Self { slope_error, ..sigmoid }.passing(self)
    }

    /// The limit of a function where this number is infinite.
    #[must_use]
    pub fn limit(self, value: f64) -> Self {
        Self { value, error: 0.0, slope: 0.0, slope_error: 0.0, ..self }
    }

    /// This result of `operand`, whatever the intermediate results were: where they overflow, the result still is right.
    fn passing(self, operand: Self) -> Self {
        Self { peak: operand.passed(0.0), ..self }
    }

    /// `x sigmoid(x)`.
    #[must_use]
    pub fn silu(self) -> Self {
        self.gated((self / (Self::exact(1.0) + (-self).exp())).passing(self))
    }

    /// `x / 2 (1 + erf(x / sqrt(2)))`.
    #[must_use]
    pub fn gelu_erf(self) -> Self {
        let scale = Self::constant(FRAC_1_SQRT_2, self.unit);
        let half = Self::exact(0.5);
        self.gated(half * self * (Self::exact(1.0) + (self * scale).erf()))
    }

    /// `x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`. The cube may overflow: the result does not.
    #[must_use]
    pub fn gelu(self) -> Self {
        let (one, half) = (Self::exact(1.0), Self::exact(0.5));
        let (scale, cubic) = (FRAC_2_PI.sqrt(), 0.044_715);
        let inner = Self::constant(scale, self.unit) * self * (one + Self::constant(cubic, self.unit) * self * self);
        let documented = half * self * (one + inner.tanh());
        let x = self.value;
        let (u, du) = (scale * x * (1.0 + cubic * x * x), scale * (1.0 + 3.0 * cubic * x * x));
        let tanh = u.tanh();
        let precise = if u.abs() > 30.0 {
            let first = if x > 0.0 { 1.0 } else { 0.0 };
            self.map(x * first, first, 0.0, 2.0)
        } else {
            let rest = 1.0 - tanh * tanh;
            let second = rest * du + 0.5 * x * rest * (6.0 * scale * cubic * x - 2.0 * tanh * du * du);
            self.map(0.5 * x * (1.0 + tanh), 0.5 * (1.0 + tanh) + 0.5 * x * rest * du, second, 2.0)
        };
        self.gated(documented.valued(precise))
    }

    /// `x tanh(ln(1 + e^x))`. The exponential may overflow: the result does not.
    #[must_use]
    pub fn mish(self) -> Self {
        let one = Self::exact(1.0);
        let documented = self * (one + self.exp()).ln().tanh();
        let stable = self * Self::log_sum_exp(&[Self::exact(0.0), self]).tanh();
        self.gated(documented.valued(stable))
    }

    /// `gated`, or infinity at infinity: the limit of `x` times a gate from 0 to 1. At minus infinity it is a product of infinity
    /// and 0, which is NaN in PyTorch too: unspecified.
    fn gated(self, gated: Self) -> Self {
        if self.value == f64::INFINITY { self.limit(f64::INFINITY) } else { gated }
    }
}

/// The error function: a series of positive terms, or the continued fraction of its complement if that is tiny.
fn erf(x: f64) -> f64 {
    let size = x.abs();
    if size.is_nan() || size > 6.0 {
        return if x.is_nan() { x } else { x.signum() };
    }
    let gauss = FRAC_2_SQRT_PI * (-size * size).exp();
    let value = if size < 3.0 {
        let (mut term, mut sum) = (size, size);
        for n in 1..100 {
            term *= 2.0 * size * size / f64::from(2 * n + 1);
            sum += term;
        }
        gauss * sum
    } else {
        let fraction = (1..60).rev().fold(size, |rest, n| size + f64::from(n) / 2.0 / rest);
        1.0 - gauss / 2.0 / fraction
    };
    value.copysign(x)
}
