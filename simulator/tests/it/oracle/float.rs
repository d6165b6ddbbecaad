//! Floating-point arithmetic by a software implementation, that of LLVM.

use std::cmp::Ordering;

use rustc_apfloat::ieee::{BFloat, Double, Half, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::{Oracle, typed};
use crate::types::{Type, ones};

/// The same expression with `$F` as the type that implements `$one`.
macro_rules! with {
    ($one:expr, $F:ident => $body:expr) => {
        match $one {
            Type::F16 | Type::F16x2 => {
                type $F = Half;
                $body
            }
            Type::Bf16 | Type::Bf16x2 => {
                type $F = BFloat;
                $body
            }
            Type::F32 => {
                type $F = Single;
                $body
            }
            _ => {
                type $F = Double;
                $body
            }
        }
    };
}
pub(crate) use with;

pub fn of(name: &str) -> Option<Oracle> {
    let (operation, one) = typed(name)?;
    if !one.is_float() {
        return None;
    }
    let mut parts = operation.split('.');
    let kind = parts.next()?.to_string();
    let (mut round, mut flushes, mut nan) = (Round::NearestTiesToEven, kind == "flush", false);
    let (mut saturates, mut rectified) = (false, false);
    for part in parts {
        match part {
            "ftz" => flushes = true,
            "NaN" => nan = true,
            "sat" => saturates = true,
            "relu" => rectified = true,
            _ => round = rounding(part)?,
        }
    }
    let operands = match kind.as_str() {
        "add" | "sub" | "mul" | "div" | "min" | "max" | "copysign" => 2,
        "fma" => 3,
        "neg" | "abs" | "rcp" | "sqrt" | "flush" => 1,
        _ => return None,
    };
    let any_nan = ["neg", "abs", "copysign"].contains(&kind.as_str());
    let compute = move |x: &[u64]| {
        with!(one, F => {
            let flush = |x: F| if flushes && x.is_denormal() { F::ZERO.copy_sign(x) } else { x };
            let x: Vec<F> = x.iter().map(|&bits| flush(F::from_bits(bits.into()))).collect();
            let result = flush(calculate(&kind, &x, round, nan));
            // What is subnormal before it is rounded is flushed on an H200, too.
            let is_tiny = flushes
                && ["mul", "fma"].contains(&kind.as_str())
                && calculate(&kind, &x, Round::TowardZero, nan).is_denormal();
            let result = if is_tiny { F::ZERO.copy_sign(result) } else { result };
            let unit = F::from_u128(1).value;
            bits(one, match () {
                () if saturates && (result.is_nan() || result.is_negative()) => F::ZERO,
                () if saturates => result.minimum(unit),
                () if rectified && result.is_negative() && !result.is_nan() => F::ZERO,
                () => result,
            })
        })
    };
    let value = move |x: &[u64]| {
        if !matches!(one, Type::F16x2 | Type::Bf16x2) {
            return compute(x);
        }
        let half = |shift: u32| compute(&x.iter().map(|pair| pair >> shift & 0xffff).collect::<Vec<_>>()) << shift;
        half(0) | half(16)
    };
    Some(Oracle { any_nan, ..Oracle::plain(name, vec![one; operands], one, value) })
}

pub fn rounding(suffix: &str) -> Option<Round> {
    Some(match suffix {
        "rn" | "rni" => Round::NearestTiesToEven,
        "rz" | "rzi" => Round::TowardZero,
        "rm" | "rmi" => Round::TowardNegative,
        "rp" | "rpi" => Round::TowardPositive,
        _ => return None,
    })
}

/// The bits of a result, NaN as the canonical one: all ones but the sign.
pub fn bits<F: Float>(one: Type, result: F) -> u64 {
    let (exponent, fraction) = one.layout().expect("a float");
    if result.is_nan() { ones(exponent + fraction) } else { result.to_bits() as u64 }
}

fn calculate<F: Float + Root>(kind: &str, x: &[F], round: Round, nan: bool) -> F {
    match kind {
        "add" => x[0].add_r(x[1], round).value,
        "sub" => x[0].sub_r(x[1], round).value,
        "mul" => x[0].mul_r(x[1], round).value,
        "div" => x[0].div_r(x[1], round).value,
        "fma" => x[0].mul_add_r(x[1], x[2], round).value,
        "rcp" => F::from_u128(1).value.div_r(x[0], round).value,
        "sqrt" => x[0].root(round),
        "flush" => x[0],
        "neg" => -x[0],
        "abs" => x[0].abs(),
        "copysign" => x[1].copy_sign(x[0]),
        _ if nan && (x[0].is_nan() || x[1].is_nan()) => F::NAN,
        _ if x[0].is_nan() => x[1],
        _ if x[1].is_nan() => x[0],
        _ => {
            let less = match x[0].partial_cmp(&x[1]) {
                Some(Ordering::Equal) => x[0].is_negative(),
                order => order == Some(Ordering::Less),
            };
            x[usize::from(less != (kind == "min"))]
        }
    }
}

/// The square root, which LLVM leaves to the processor.
pub trait Root {
    /// Rounded in a mode.
    fn root(self, round: Round) -> Self;
}

impl<F> Root for F
where
    F: Float + FloatConvert<Quad>,
    Quad: FloatConvert<F>,
{
    /// The integer root of the significand, a last bit to say that it is inexact, and one rounding.
    fn root(self, round: Round) -> Self {
        if self.is_nan() || self.is_zero() || self.is_pos_infinity() {
            return self;
        }
        if self.is_negative() {
            return Self::NAN;
        }
        let mut exact = false;
        let wide: Quad = self.convert(&mut exact).value;
        // An integer of 120 or 121 bits, times four to the power of `half`.
        let half = (wide.ilogb() - 120).div_euclid(2);
        let scaled = wide.scalbn(-2 * half).to_u128(128).value;
        let root = scaled.isqrt();
        let sticky = u128::from(root * root != scaled);
        let root = Quad::from_u128(root << 1 | sticky).value.scalbn(half - 1);
        root.convert_r(round, &mut exact).value
    }
}

/// The order of two floats; `None` where either is NaN.
pub fn order(one: Type, a: u64, b: u64) -> Option<Ordering> {
    with!(one, F => F::from_bits(a.into()).partial_cmp(&F::from_bits(b.into())))
}
