//! Rounding that the host's arithmetic does not offer: directed rounding, narrow formats, and sums that remember whether
//! they were inexact. Uses integer arithmetic only; the host's rounding mode is never changed.

/// How a result that does not fit is rounded (PTX ISA 6.5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// `.rn`
    NearestEven,
    /// `.rz`
    Zero,
    /// `.rm`
    Down,
    /// `.rp`
    Up,
}

/// A binary format of at most 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Bits of the exponent.
    pub exponent: u32,
    /// Bits of the fraction that are stored.
    pub fraction: u32,
}

impl Format {
    /// IEEE binary16.
    pub const F16: Self = Self { exponent: 5, fraction: 10 };
    /// The upper half of binary32.
    pub const BF16: Self = Self { exponent: 8, fraction: 7 };
    /// IEEE binary32.
    pub const F32: Self = Self { exponent: 8, fraction: 23 };

    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    fn infinity(self) -> u32 {
        ((1 << self.exponent) - 1) << self.fraction
    }
}

/// `value` in `format`, as bits. NaN becomes the canonical NaN: all ones but the sign.
pub fn narrow(value: f64, format: Format, rounding: Rounding) -> u32 {
    let bits = value.to_bits();
    let negative = bits >> 63 != 0;
    let sign = u32::from(negative) << (format.exponent + format.fraction);
    if value.is_nan() {
        return format.infinity() | ((1 << format.fraction) - 1);
    }
    if value.is_infinite() {
        return sign | format.infinity();
    }
    let magnitude = bits & !(1 << 63);
    let biased = (magnitude >> 52) as i32;
    // Subnormal doubles are below half of every format's least value: one significant bit says all of them.
    let (significand, exponent) = if biased == 0 {
        (u64::from(magnitude != 0), -1074)
    } else {
        (magnitude & ((1 << 52) - 1) | 1 << 52, biased - 1075)
    };
    // The unit in the last place of the result, as a power of two.
    let top = exponent + 63 - significand.leading_zeros() as i32;
    let unit = (top - format.fraction as i32).max(1 - format.bias() - format.fraction as i32);
    let shift = unit - exponent;
    let (kept, rest) = match shift {
        ..=0 => (significand << -shift, 0),
        1..=63 => (significand >> shift, significand << (64 - shift)),
        _ => (0, significand.min(1)),
    };
    let up = match rounding {
        Rounding::NearestEven => rest > 1 << 63 || rest == 1 << 63 && kept & 1 != 0,
        Rounding::Zero => false,
        Rounding::Down => negative && rest != 0,
        Rounding::Up => !negative && rest != 0,
    };
    let kept = kept + u64::from(up);
    // Exponent field and fraction are one number, so that a carry out of the fraction moves into the exponent.
    let field = (unit + format.bias() + format.fraction as i32 - 1).max(0) as u64;
    let result = (field << format.fraction) + kept;
    if result < u64::from(format.infinity()) {
        return sign | result as u32;
    }
    let to_infinity = match rounding {
        Rounding::NearestEven => true,
        Rounding::Zero => false,
        Rounding::Down => negative,
        Rounding::Up => !negative,
    };
    sign | (format.infinity() - u32::from(!to_infinity))
}

/// [`narrow`] to nearest even in [`Format::F16`], without a branch: half-precision kernels spend most of their time here.
pub fn nearest_f16(x: f32) -> u32 {
    let magnitude = x.to_bits() & 0x7fff_ffff;
    let sign = x.to_bits() >> 16 & 0x8000;
    // Below 2^-14 the unit is 2^-24, which is that of numbers near a half: the addition rounds.
    let small = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let odd = magnitude >> 13 & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
    let rounded = if magnitude < 113 << 23 { small } else { normal.min(Format::F16.infinity()) };
    if magnitude > 0x7f80_0000 { 0x7fff } else { sign | rounded }
}

/// [`narrow`] to nearest even in [`Format::BF16`].
pub fn nearest_bf16(x: f32) -> u32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if x.is_nan() { 0x7fff } else { rounded }
}

/// The value of `bits` in `format`.
pub fn widen(bits: u32, format: Format) -> f32 {
    let magnitude = bits & ((1 << (format.exponent + format.fraction)) - 1);
    let sign = (bits >> (format.exponent + format.fraction) & 1) << 31;
    if magnitude >= format.infinity() {
        let fraction = (magnitude - format.infinity()) << (23 - format.fraction);
        return f32::from_bits(sign | 0x7f80_0000 | fraction);
    }
    if format.exponent == 8 {
        return f32::from_bits(sign | magnitude << (23 - format.fraction));
    }
    // Placed at the bottom of the exponent range and scaled up: exact, for subnormals too.
    let scale = f32::from_bits((127 + 127 - format.bias() as u32) << 23);
    f32::from_bits(sign | (f32::from_bits(magnitude << (23 - format.fraction)) * scale).to_bits())
}

/// The sum rounded to odd: inexact sums end in a one, so that a second rounding to a narrower format, in any mode, is
/// right (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
pub fn add_odd(a: f64, b: f64) -> f64 {
    let sum = add_toward_zero(a, b);
    let exact = sum.0 == 0.0 || !sum.0.is_finite() || !sum.1;
    if exact { sum.0 } else { f64::from_bits(sum.0.to_bits() | 1) }
}

/// The sum rounded toward zero, and whether that lost anything.
fn add_toward_zero(a: f64, b: f64) -> (f64, bool) {
    let sum = a + b;
    if !sum.is_finite() {
        let overflowed = a.is_finite() && b.is_finite();
        return if overflowed { (f64::MAX.copysign(sum), true) } else { (sum, false) };
    }
    // Knuth's two-sum: the error of the rounded sum, exactly.
    let high = sum - a;
    let error = (a - (sum - high)) + (b - high);
    if error == 0.0 {
        return (sum, false);
    }
    if (error < 0.0) == (sum < 0.0) { (sum, true) } else { (f64::from_bits(sum.to_bits() - 1), true) }
}

/// `a · b + c` rounded once to `format`. The product of two floats of 24 bits is exact in a double.
pub fn fma(a: f32, b: f32, c: f32, format: Format, rounding: Rounding) -> u32 {
    let product = f64::from(a) * f64::from(b);
    let sum = add_odd(product, f64::from(c));
    // An exact zero from terms of opposite signs, zeros among them, is negative in rounding down (IEEE 754, 6.3).
    let cancelled = sum == 0.0 && product.is_sign_negative() != c.is_sign_negative();
    narrow(if cancelled && rounding == Rounding::Down { -0.0 } else { sum }, format, rounding)
}

/// A subnormal as zero with its sign, as `.ftz` treats inputs and results.
pub fn flush(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}

/// The value of an e4m3 byte (OCP 8-bit floating point: bias 7, no infinity, NaN at 0x7f and 0xff).
pub fn e4m3(bits: u8) -> f32 {
    if bits & 0x7f == 0x7f {
        return f32::NAN;
    }
    let (exponent, fraction) = (i32::from(bits >> 3 & 15), f32::from(bits & 7));
    let magnitude = if exponent == 0 { fraction / 512.0 } else { (1.0 + fraction / 8.0) * 2f32.powi(exponent - 7) };
    if bits & 0x80 != 0 { -magnitude } else { magnitude }
}

/// One half of `cvt.rn.satfinite.e4m3x2.f32`: rounds to nearest even; what is larger than 448 becomes 448, NaN 0x7f (PTX
/// ISA, cvt: "satfinite").
pub fn to_e4m3(x: f32) -> u8 {
    if x.is_nan() {
        return 0x7f;
    }
    let sign = if x.is_sign_negative() { 0x80 } else { 0 };
    if x.abs() > 448.0 {
        return sign | 0x7e;
    }
    if x.abs() < 2f32.powi(-6) {
        return sign | (x.abs() * 512.0).round_ties_even() as u8;
    }
    let exponent = (x.to_bits() >> 23 & 0xff) as i32 - 127;
    let eighths = (x.abs() * 2f32.powi(3 - exponent)).round_ties_even() as u8;
    // Sixteen eighths carry into the exponent.
    sign | ((((exponent + 7) as u8) << 3) + (eighths - 8))
}

/// The value of an e5m2 byte: the upper half of binary16.
pub fn e5m2(bits: u8) -> f32 {
    widen(u32::from(bits) << 8, Format::F16)
}

/// [`to_e4m3`] for e5m2: what is larger than 57344 becomes that.
pub fn to_e5m2(x: f32) -> u8 {
    let bits = narrow(x.into(), Format { exponent: 5, fraction: 2 }, Rounding::NearestEven) as u8;
    if !x.is_nan() && bits & 0x7f == 0x7c { bits - 1 } else { bits }
}
