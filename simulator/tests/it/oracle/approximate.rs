//! Approximations. The ISA gives bounds; the simulator claims the correctly rounded value, which CORE-MATH computes.

use rustc_apfloat::ieee::{BFloat, Double, Half, IeeeFloat, Semantics, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::float::{Root, bits, with};
use super::{Oracle, typed};
use crate::types::Type;

/// The upper word of a double, which is what approximations of doubles work on.
struct Upper;

impl Semantics for Upper {
    const BITS: usize = 32;
    const EXP_BITS: usize = 11;
}

type Word = IeeeFloat<Upper>;

pub fn of(name: &str) -> Option<Oracle> {
    let (operation, one) = typed(name)?;
    let (kind, how) = operation.split_once('.')?;
    let (flushes, approximate) = match (how, one) {
        ("approx", Type::F32) => (false, true),
        ("approx.ftz", Type::F32) => (true, true),
        ("full", Type::F32) => (false, false),
        ("full.ftz", Type::F32) => (true, false),
        ("approx.ftz", Type::F64) => return coarse(name, kind),
        ("approx", Type::F64) if kind == "rsqrt" => {
            return Some(Oracle::plain(name, vec![one], one, |x| core_math::rsqrt(f64::from_bits(x[0])).to_bits()));
        }
        ("approx" | "approx.ftz", Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2) => return half(name, kind, one),
        _ => return None,
    };
    let operands = match kind {
        "ex2" | "lg2" | "rcp" | "rsqrt" | "sqrt" | "sin" | "cos" | "tanh" => 1,
        "div" => 2,
        _ => return None,
    };
    let kind = kind.to_string();
    Some(Oracle::plain(name, vec![one; operands], one, move |x| {
        let flush = |x: f32| if flushes && x.is_subnormal() { 0f32.copysign(x) } else { x };
        let x: Vec<f32> = x.iter().map(|&bits| flush(f32::from_bits(bits as u32))).collect();
        let soft = |x: f32| Single::from_bits(x.to_bits().into());
        let hard = |x: Single| f32::from_bits(x.to_bits() as u32);
        let result = match kind.as_str() {
            "ex2" => core_math::exp2f(x[0]),
            "lg2" => core_math::log2f(x[0]),
            "rsqrt" => core_math::rsqrtf(x[0]),
            "sin" => core_math::sinf(x[0]),
            "cos" => core_math::cosf(x[0]),
            "tanh" => core_math::tanhf(x[0]),
            "rcp" => hard((soft(1.0) / soft(x[0])).value),
            "sqrt" => hard(soft(x[0]).root(Round::NearestTiesToEven)),
            // Divisors beyond 2^126: the quotient is zero, and that of an infinity NaN.
            _ if approximate && x[1].abs() > 2f32.powi(126) && x[1].is_finite() => {
                if x[0].is_finite() {
                    0f32.copysign(x[0] * x[1].signum())
                } else {
                    f32::NAN
                }
            }
            _ => hard((soft(x[0]) / soft(x[1])).value),
        };
        let result = flush(result);
        u64::from(if result.is_nan() { 0x7fff_ffff } else { result.to_bits() })
    }))
}

/// The function in single precision, rounded again.
fn half(name: &str, kind: &str, one: Type) -> Option<Oracle> {
    let function = match kind {
        "ex2" => core_math::exp2f,
        "tanh" => core_math::tanhf,
        _ => return None,
    };
    let single = if matches!(one, Type::F16 | Type::F16x2) { Type::F16 } else { Type::Bf16 };
    let flushes = name.contains(".ftz");
    let value = move |x: u64| {
        let mut exact = false;
        with!(single, F => {
            let x = F::from_bits(x.into());
            let x: Single = (if flushes && x.is_denormal() { F::ZERO } else { x }).convert(&mut exact).value;
            let result: F = Single::from_bits(function(f32::from_bits(x.to_bits() as u32)).to_bits().into()).convert(&mut exact).value;
            bits(single, result)
        })
    };
    let pair = one != single;
    Some(Oracle::plain(name, vec![one], one, move |x| {
        value(x[0] & 0xffff) | if pair { value(x[0] >> 16) << 16 } else { 0 }
    }))
}

/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`: the upper word of the operand gives that of the result.
fn coarse(name: &str, kind: &str) -> Option<Oracle> {
    let reciprocal = match kind {
        "rcp" => true,
        "rsqrt" => false,
        _ => return None,
    };
    Some(Oracle::plain(name, vec![Type::F64], Type::F64, move |x| {
        let flush = |x: Word| if x.is_denormal() { Word::ZERO.copy_sign(x) } else { x };
        let word = flush(Word::from_bits(u128::from(x[0] >> 32)));
        let result = if reciprocal {
            flush((Word::from_u128(1).value / word).value)
        } else {
            let root = core_math::rsqrt(f64::from_bits((word.to_bits() as u64) << 32));
            // Rounded half up: no reciprocal root is halfway between two such numbers.
            Word::from_bits(u128::from(root.to_bits().saturating_add(if root.is_finite() { 1 << 31 } else { 0 }) >> 32))
        };
        (result.to_bits() as u64) << 32
    }))
}
