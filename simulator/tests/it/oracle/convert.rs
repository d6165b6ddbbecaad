//! Conversions: exactly to a wider format first, then rounded once.

use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, IeeeFloat, Quad, Semantics, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::float::{bits, rounding, with};
use super::{Oracle, flushed};
use crate::types::{Type, ones};

pub fn of(name: &str) -> Option<Oracle> {
    if name.contains(".ftz.f16.") {
        // An H200 converts subnormal numbers as they are.
        let base = name.replacen(".ftz", "", 1);
        return of(&base).map(|oracle| Oracle { code: oracle.code.replacen(&base, name, 1), ..oracle });
    }
    if name.contains(".ftz.") {
        return flushed(name, of);
    }
    let rest = name.strip_prefix("cvt.")?;
    let mut parts = rest.split('.').collect::<Vec<_>>();
    let from = Type::named(parts.pop()?)?;
    let to = Type::named(parts.pop()?)?;
    let saturates = parts.contains(&"sat");
    let round = parts.iter().find_map(|part| rounding(part)).unwrap_or(Round::NearestTiesToEven);
    Some(match (from, to) {
        (Type::F32, Type::E4m3x2 | Type::E5m2x2) => Oracle::plain(name, vec![from; 2], to, move |x| {
            to_eight(Type::F32, to, x[1]) | to_eight(Type::F32, to, x[0]) << 8
        }),
        (Type::F16x2, Type::E4m3x2 | Type::E5m2x2) => Oracle::plain(name, vec![from], to, move |x| {
            to_eight(Type::F16, to, x[0] & 0xffff) | to_eight(Type::F16, to, x[0] >> 16) << 8
        }),
        (Type::E4m3x2 | Type::E5m2x2, Type::F16x2) => Oracle::plain(name, vec![from], to, move |x| {
            from_eight(from, x[0] & 0xff) | from_eight(from, x[0] >> 8 & 0xff) << 16
        }),
        (Type::F32, Type::F16x2 | Type::Bf16x2) => {
            let rectified = parts.contains(&"relu");
            let half = move |x: u64| {
                let half = narrow(quad(from, x), to, round);
                if rectified && half >> 15 == 1 { 0 } else { half }
            };
            Oracle::plain(name, vec![from; 2], to, move |x| half(x[1]) | half(x[0]) << 16)
        }
        (Type::F32, Type::Tf32) => {
            let away = parts.contains(&"rna");
            let round = if away { Round::NearestTiesToAway } else { round };
            Oracle::plain(name, vec![from], to, move |x| {
                let mut exact = false;
                let result: IeeeFloat<Tf32> = quad(from, x[0]).convert_r(round, &mut exact).value;
                // An H200 keeps a quiet NaN where it rounds away.
                if result.is_nan() && away {
                    (x[0] | 0x0040_0000) & !0x1fff
                } else if result.is_nan() {
                    0x7fff_e000
                } else {
                    (result.to_bits() as u64) << 13
                }
            })
        }
        _ if to.is_integer() => {
            // The register is wider than a small type, and the result is extended to it.
            let register = Type::Bits(to.bits().max(32));
            Oracle::plain(name, vec![from], register, move |x| {
                let value =
                    if from.is_integer() { cut(to, from.integer(x[0])) } else { integer(from, to, x[0], round) };
                value as u64 & ones(register.bits())
            })
        }
        _ if from.is_integer() => Oracle::plain(
            name,
            vec![from],
            to,
            move |x| with!(to, F => bits(to, F::from_i128_r(from.integer(x[0]), round).value)),
        ),
        _ if saturates => Oracle::plain(name, vec![from], to, move |x| {
            let (value, one) = (quad(from, x[0]), Quad::from_u128(1).value);
            let clamped = if value.is_nan() || value.is_negative() { Quad::ZERO } else { value.min(one) };
            narrow(clamped, to, round)
        }),
        _ if from == to => Oracle::plain(name, vec![from], to, move |x| {
            narrow(quad(from, x[0]).round_to_integral(round).value, to, round)
        }),
        _ => Oracle::plain(name, vec![from], to, move |x| narrow(quad(from, x[0]), to, round)),
    })
}

/// The low bits of `value` as a number of type `to`.
fn cut(to: Type, value: i128) -> i128 {
    to.integer(value as u64 & ones(to.bits()))
}

/// Saturates. NaN is 0, but the top bit alone where source or destination has 64 bits.
fn integer(from: Type, to: Type, operand: u64, round: Round) -> i128 {
    let value = quad(from, operand);
    if value.is_nan() {
        let wide = from == Type::F64 || to.bits() == 64;
        return if wide { cut(to, 1 << (to.bits() - 1)) } else { 0 };
    }
    let (least, most) = match to {
        Type::Signed(bits) => (-1i128 << (bits - 1), (1i128 << (bits - 1)) - 1),
        _ => (0, i128::from(ones(to.bits()))),
    };
    let mut exact = false;
    value.to_i128_r(128, round, &mut exact).value.clamp(least, most)
}

fn quad(one: Type, operand: u64) -> Quad {
    let mut exact = false;
    with!(one, F => F::from_bits(operand.into()).convert(&mut exact).value)
}

fn narrow(value: Quad, to: Type, round: Round) -> u64 {
    let mut exact = false;
    with!(to, F => {
        let result: F = value.convert_r(round, &mut exact).value;
        bits(to, result)
    })
}

/// Single precision with ten bits of fraction.
struct Tf32;

impl Semantics for Tf32 {
    const BITS: usize = 19;
    const EXP_BITS: usize = 8;
}

/// The same expression with `$F` as the type that implements an eight-bit format.
macro_rules! eight {
    ($one:expr, $F:ident => $body:expr) => {
        if $one == Type::E4m3x2 {
            type $F = Float8E4M3FN;
            $body
        } else {
            type $F = Float8E5M2;
            $body
        }
    };
}

/// `.satfinite`: beyond the largest is the largest, and only NaN is NaN.
fn to_eight(from: Type, to: Type, operand: u64) -> u64 {
    let value = quad(from, operand);
    if value.is_nan() {
        return 0x7f;
    }
    let mut exact = false;
    eight!(to, F => {
        let most: Quad = F::largest().convert(&mut exact).value;
        let limited = if value.abs() > most { most.copy_sign(value) } else { value };
        let result: F = limited.convert(&mut exact).value;
        result.to_bits() as u64
    })
}

fn from_eight(from: Type, byte: u64) -> u64 {
    let mut exact = false;
    let value: Half = eight!(from, F => F::from_bits(byte.into()).convert(&mut exact).value);
    bits(Type::F16, value)
}
