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
            Type::F32 | Type::F32x2 => {
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
    if let Some(class) = operation.strip_prefix("testp.") {
        return Some(classified(name, class, one));
    }
    if let Some(operation) = operation.strip_suffix(".f32") {
        return mixed(name, operation, one);
    }
    let mut parts = operation.split('.');
    let kind = parts.next()?.to_string();
    let (mut round, mut flushes, mut nan) = (Round::NearestTiesToEven, kind == "flush", false);
    let (mut saturates, mut rectified, mut signs, mut magnitudes) = (false, false, false, false);
    for part in parts {
        match part {
            "ftz" => flushes = true,
            "NaN" => nan = true,
            "sat" => saturates = true,
            "relu" => rectified = true,
            "xorsign" => signs = true,
            "abs" => magnitudes = true,
            _ => round = rounding(part)?,
        }
    }
    let operands = match kind.as_str() {
        "add" | "sub" | "mul" | "div" | "min" | "max" | "copysign" => 2,
        "fma" | "mad" => 3,
        "neg" | "abs" | "rcp" | "sqrt" | "flush" => 1,
        _ => return None,
    };
    let keeps_nan = kind == "flush" && matches!(one, Type::F16 | Type::F16x2);
    let any_nan = ["neg", "abs", "copysign"].contains(&kind.as_str()) || keeps_nan;
    let compute = move |x: &[u64]| {
        with!(one, F => {
            let flush = |x: F| if flushes && x.is_denormal() { F::ZERO.copy_sign(x) } else { x };
            let x: Vec<F> = x.iter().map(|&bits| flush(F::from_bits(bits.into()))).collect();
            let operands: Vec<F> = x.iter().map(|x| if magnitudes { x.abs() } else { *x }).collect();
            let result = flush(calculate(&kind, &operands, round, nan));
            let negative = signs && x[0].is_negative() != x[1].is_negative();
            let result = if negative { -result } else { result };
            // What is subnormal before it is rounded is flushed on an H200, too.
            let is_tiny = flushes
                && one == Type::F32
                && ["mul", "fma", "mad"].contains(&kind.as_str())
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
        let width = match one {
            Type::F16x2 | Type::Bf16x2 => 16,
            Type::F32x2 => 32,
            _ => return compute(x),
        };
        let half = |shift: u32| compute(&x.iter().map(|pair| pair >> shift & ones(width)).collect::<Vec<_>>()) << shift;
        half(0) | half(width)
    };
    Some(Oracle { any_nan, ..Oracle::plain(name, vec![one; operands], one, value) })
}

/// What a number is.
fn classified(name: &str, class: &str, one: Type) -> Oracle {
    let class = class.to_string();
    Oracle::plain(name, vec![one], Type::Pred, move |x| {
        with!(one, F => {
            let x = F::from_bits(x[0].into());
            u64::from(match class.as_str() {
                "finite" => x.is_finite(),
                "infinite" => x.is_infinite(),
                "number" => !x.is_nan(),
                "notanumber" => x.is_nan(),
                "normal" => x.is_normal(),
                _ => x.is_denormal(),
            })
        })
    })
}

/// Arithmetic in single precision whose first operands are halves.
fn mixed(name: &str, operation: &str, half: Type) -> Option<Oracle> {
    if !matches!(half, Type::F16 | Type::Bf16) {
        return None;
    }
    let mut parts = operation.split('.');
    let kind = parts.next()?.to_string();
    let count = match kind.as_str() {
        "add" | "sub" => 1,
        "fma" => 2,
        _ => return None,
    };
    let (mut round, mut saturates) = (Round::NearestTiesToEven, false);
    for part in parts {
        match part {
            "sat" => saturates = true,
            _ => round = rounding(part)?,
        }
    }
    let mut from = vec![half; count];
    from.push(Type::F32);
    Some(Oracle::plain(name, from, Type::F32, move |x| {
        let mut exact = false;
        let wide = |&bits: &u64| with!(half, F => F::from_bits(u128::from(bits & 0xffff)).convert(&mut exact).value);
        let mut operands: Vec<Single> = x[..count].iter().map(wide).collect();
        operands.push(Single::from_bits(x[count].into()));
        let result = calculate(&kind, &operands, round, false);
        let zero = saturates && (result.is_nan() || result.is_negative());
        let limited = if saturates { result.minimum(Single::from_u128(1).value) } else { result };
        bits(Type::F32, if zero { Single::ZERO } else { limited })
    }))
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
        "fma" | "mad" => x[0].mul_add_r(x[1], x[2], round).value,
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
