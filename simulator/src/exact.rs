//! Exact results of arithmetic on floats, which are then rounded once: for the rounding modes that processors do not offer.

use crate::float::Rounding;

/// A finite number: the significand times two to the power of the exponent. A result that does not end in time ends in a one,
/// far below what any rounding here keeps.
#[derive(Debug, Clone, Copy)]
struct Exact {
    negative: bool,
    /// Zero, or a number whose highest bit is bit [`TOP`].
    significand: u128,
    exponent: i32,
}

/// Room for a carry above, and for twenty bits below a product of two doubles.
const TOP: u32 = 125;

/// A format to round to.
#[derive(Debug, Clone, Copy)]
pub struct Precision {
    /// Bits of the fraction that are stored.
    fraction: i32,
    /// The unit of subnormal numbers, as a power of two.
    least: i32,
    largest: f64,
}

impl Precision {
    /// IEEE binary32.
    pub const SINGLE: Self = Self { fraction: 23, least: -149, largest: f32::MAX as f64 };
    /// IEEE binary64.
    pub const DOUBLE: Self = Self { fraction: 52, least: -1074, largest: f64::MAX };

    fn is_single(self) -> bool {
        self.fraction == Self::SINGLE.fraction
    }
}

/// `a + b`
pub fn sum(a: f64, b: f64, (to, rounding): (Precision, Rounding)) -> f64 {
    if !a.is_finite() || !b.is_finite() {
        return a + b;
    }
    Exact::of(a).plus(Exact::of(b), rounding).round(to, rounding)
}

/// `a · b`
pub fn product(a: f64, b: f64, (to, rounding): (Precision, Rounding)) -> f64 {
    if !a.is_finite() || !b.is_finite() {
        return a * b;
    }
    Exact::of(a).times(Exact::of(b)).round(to, rounding)
}

/// `a · b + c`
pub fn fused(a: f64, b: f64, c: f64, (to, rounding): (Precision, Rounding)) -> f64 {
    if !a.is_finite() || !b.is_finite() || !c.is_finite() {
        return a.mul_add(b, c);
    }
    let (product, sum) = (a * b, a * b + c);
    // Of single numbers the product is exact, and so is almost every sum.
    if to.is_single() && a.mul_add(b, -product) == 0.0 && is_sum(sum, product, c) {
        return single(sum, rounding);
    }
    Exact::of(a).times(Exact::of(b)).plus(Exact::of(c), rounding).round(to, rounding)
}

/// True if the sum of two numbers is exact (Knuth's `TwoSum`), and large enough that an error could not underflow.
fn is_sum(sum: f64, a: f64, b: f64) -> bool {
    let part = sum - a;
    sum.abs() > 1e-100 && (a - (sum - part)) + (b - part) == 0.0
}

/// A number that is not zero, rounded to single precision.
fn single(exact: f64, rounding: Rounding) -> f64 {
    let nearest = exact as f32;
    let (is_above, is_below) = (f64::from(nearest) > exact, f64::from(nearest) < exact);
    f64::from(match rounding {
        Rounding::Down if is_above => nearest.next_down(),
        Rounding::Up if is_below => nearest.next_up(),
        Rounding::Zero if is_above && exact > 0.0 => nearest.next_down(),
        Rounding::Zero if is_below && exact < 0.0 => nearest.next_up(),
        _ => nearest,
    })
}

/// `a / b`
pub fn quotient(a: f64, b: f64, (to, rounding): (Precision, Rounding)) -> f64 {
    if !a.is_finite() || !b.is_finite() || b == 0.0 {
        return a / b;
    }
    Exact::of(a).over(Exact::of(b)).round(to, rounding)
}

/// The square root of `a`.
pub fn root(a: f64, (to, rounding): (Precision, Rounding)) -> f64 {
    if !a.is_finite() || a <= 0.0 {
        return a.sqrt();
    }
    Exact::of(a).root().round(to, rounding)
}

/// One over the square root of `a`.
pub fn reciprocal_root(a: f64, (to, rounding): (Precision, Rounding)) -> f64 {
    if !a.is_finite() || a <= 0.0 {
        return 1.0 / a.sqrt();
    }
    Exact::of(1.0).over(Exact::of(a)).root().round(to, rounding)
}

impl Exact {
    fn of(x: f64) -> Self {
        let (fraction, biased) = (x.to_bits() & ((1 << 52) - 1), (x.to_bits() >> 52 & 0x7ff) as i32);
        let significand = if biased == 0 { fraction } else { fraction | 1 << 52 };
        Self::new(x.is_sign_negative(), significand.into(), biased.max(1) - 1075)
    }

    fn new(negative: bool, significand: u128, exponent: i32) -> Self {
        let free = significand.leading_zeros() as i32 - (127 - TOP as i32);
        match free {
            _ if significand == 0 => Self { negative, significand, exponent: 0 },
            0.. => Self { negative, significand: significand << free, exponent: exponent - free },
            _ => Self { negative, significand: shifted(significand, -free), exponent: exponent - free },
        }
    }

    /// An exact zero from terms of opposite signs is negative in rounding down (IEEE 754, 6.3).
    fn plus(self, other: Self, rounding: Rounding) -> Self {
        let (large, small) = match (self.significand, other.significand) {
            (0, _) if other.significand != 0 => return other,
            (_, 0) if self.significand != 0 => return self,
            _ if self.exponent >= other.exponent => (self, other),
            _ => (other, self),
        };
        let below = shifted(small.significand, large.exponent - small.exponent);
        if large.negative == small.negative {
            return Self::new(large.negative, large.significand + below, large.exponent);
        }
        match large.significand.cmp(&below) {
            std::cmp::Ordering::Equal => Self::new(rounding == Rounding::Down, 0, 0),
            std::cmp::Ordering::Greater => Self::new(large.negative, large.significand - below, large.exponent),
            std::cmp::Ordering::Less => Self::new(small.negative, below - large.significand, large.exponent),
        }
    }

    fn times(self, other: Self) -> Self {
        // The highest 53 bits are all that is set.
        let low = TOP - 52;
        let significand = (self.significand >> low) * (other.significand >> low);
        Self::new(self.negative != other.negative, significand, self.exponent + other.exponent + 2 * low as i32)
    }

    fn over(self, other: Self) -> Self {
        let divisor = other.significand >> (TOP - 52);
        let (significand, rest) = (self.significand / divisor, self.significand % divisor);
        let exponent = self.exponent - other.exponent - (TOP as i32 - 52);
        Self::new(self.negative != other.negative, significand | u128::from(rest != 0), exponent)
    }

    fn root(self) -> Self {
        let odd = self.exponent.rem_euclid(2);
        let square = self.significand << odd;
        let root = square.isqrt();
        // Twenty bits more make room for the last one.
        let significand = root << 20 | u128::from(root * root != square);
        Self::new(false, significand, (self.exponent - odd) / 2 - 20)
    }

    fn round(self, to: Precision, rounding: Rounding) -> f64 {
        let sign = if self.negative { -1.0 } else { 1.0 };
        if self.significand == 0 {
            return 0.0 * sign;
        }
        let unit = (self.exponent + TOP as i32 - to.fraction).max(to.least);
        let shift = unit - self.exponent;
        let kept = if shift > TOP as i32 { 0 } else { self.significand >> shift };
        let rest = self.significand - (kept << shift.min(TOP as i32 + 1));
        // From two bits above the highest on, the rest is less than half.
        let half = if shift > TOP as i32 + 1 { u128::MAX } else { 1 << (shift - 1) };
        let up = match rounding {
            Rounding::NearestEven => rest > half || rest == half && kept & 1 != 0,
            Rounding::Zero => false,
            Rounding::Down => self.negative && rest != 0,
            Rounding::Up => !self.negative && rest != 0,
        };
        let magnitude = libm::scalbn((kept + u128::from(up)) as f64, unit);
        let to_infinity = match rounding {
            Rounding::NearestEven => true,
            Rounding::Zero => false,
            Rounding::Down => self.negative,
            Rounding::Up => !self.negative,
        };
        let limit = if to_infinity { f64::INFINITY } else { to.largest };
        sign * if magnitude > to.largest { limit } else { magnitude }
    }
}

/// A shift to the right. If it loses bits, the last one is set.
fn shifted(significand: u128, by: i32) -> u128 {
    match by {
        0 => significand,
        1..=127 => significand >> by | u128::from(significand << (128 - by) != 0),
        _ => u128::from(significand != 0),
    }
}
