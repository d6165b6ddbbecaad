//! Conversions: exactly to a wider format first, then rounded once.

use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, IeeeFloat, Quad, Semantics, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::float::{bits, rounding, with};
use super::{Oracle, flushed};
use crate::types::{Type, ones};

pub fn of(name: &str) -> Option<Oracle> {
    if name.starts_with("cvt.pack.") {
        return packed(name);
    }
    if name.contains(".ftz.") && name.ends_with(".f16.f32") && !name.contains("satfinite") && !name.contains("relu") {
        // An H200 converts subnormal numbers as they are.
        let base = name.replacen(".ftz", "", 1);
        return of(&base).map(|oracle| Oracle { code: oracle.code.replacen(&base, name, 1), ..oracle });
    }
    if name.contains(".ftz.") {
        return flushed(name, of, false);
    }
    let rest = name.strip_prefix("cvt.")?;
    let mut parts = rest.split('.').collect::<Vec<_>>();
    let from = Type::named(parts.pop()?)?;
    let to = Type::named(parts.pop()?)?;
    let [saturates, rectified, is_finite] = ["sat", "relu", "satfinite"].map(|part| parts.contains(&part));
    let integral = parts.iter().any(|part| ["rni", "rzi", "rmi", "rpi"].contains(part));
    let round = parts.iter().find_map(|part| rounding(part)).unwrap_or(Round::NearestTiesToEven);
    Some(match (from, to) {
        (Type::F32, Type::E4m3x2 | Type::E5m2x2) => Oracle::plain(name, vec![from; 2], to, move |x| {
            let eight = |x| positive(rectified, to_eight(Type::F32, to, x), 7);
            eight(x[1]) | eight(x[0]) << 8
        }),
        (Type::F16x2, Type::E4m3x2 | Type::E5m2x2) => Oracle::plain(name, vec![from], to, move |x| {
            let eight = |x| positive(rectified, to_eight(Type::F16, to, x), 7);
            eight(x[0] & 0xffff) | eight(x[0] >> 16) << 8
        }),
        (Type::E4m3x2 | Type::E5m2x2, Type::F16x2) => Oracle::plain(name, vec![from], to, move |x| {
            let half = |x| positive(rectified, from_eight(from, x), 15);
            half(x[0] & 0xff) | half(x[0] >> 8 & 0xff) << 16
        }),
        (Type::F32, Type::F16x2 | Type::Bf16x2) => {
            let half = move |x: u64| {
                let half = narrow(quad(from, x), to, round);
                positive(rectified, if is_finite { largest(to, half) } else { half }, 15)
            };
            Oracle::plain(name, vec![from; 2], to, move |x| half(x[1]) | half(x[0]) << 16)
        }
        (Type::F32, Type::F16 | Type::Bf16) if rectified || is_finite => {
            Oracle::plain(name, vec![from], to, move |x| {
                let half = narrow(quad(from, x[0]), to, round);
                positive(rectified, if is_finite { largest(to, half) } else { half }, 15)
            })
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
                    let largest = IeeeFloat::<Tf32>::largest().copy_sign(result);
                    let result = if is_finite && result.is_infinite() { largest } else { result };
                    positive(rectified, (result.to_bits() as u64) << 13, 31)
                }
            })
        }
        _ if to.is_integer() => {
            // The register is wider than a small type, and the result is extended to it.
            let register = Type::Bits(to.bits().max(32));
            Oracle::plain(name, vec![from], register, move |x| {
                let value = match from.is_integer() {
                    true if saturates => from.integer(x[0]).clamp(limits(to).0, limits(to).1),
                    true => cut(to, from.integer(x[0])),
                    false => integer(from, to, x[0], round),
                };
                value as u64 & ones(register.bits())
            })
        }
        _ if from.is_integer() => Oracle::plain(name, vec![from], to, move |x| {
            let number = from.integer(x[0]);
            let number = if saturates { number.clamp(0, 1) } else { number };
            with!(to, F => bits(to, F::from_i128_r(number, round).value))
        }),
        _ if saturates => Oracle::plain(name, vec![from], to, move |x| {
            let (value, one) = (quad(from, x[0]), Quad::from_u128(1).value);
            let value = if integral { value.round_to_integral(round).value } else { value };
            let clamped = if value.is_nan() || value.is_negative() { Quad::ZERO } else { value.min(one) };
            narrow(clamped, to, round)
        }),
        _ if from == to && integral => Oracle::plain(name, vec![from], to, move |x| {
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
    let (least, most) = limits(to);
    let mut exact = false;
    value.to_i128_r(128, round, &mut exact).value.clamp(least, most)
}

/// The least and the most of an integer type.
fn limits(to: Type) -> (i128, i128) {
    match to {
        Type::Signed(bits) => (-1i128 << (bits - 1), (1i128 << (bits - 1)) - 1),
        _ => (0, i128::from(ones(to.bits()))),
    }
}

/// Zero if the sign, at this bit, is set and negative numbers are.
fn positive(rectified: bool, bits: u64, sign: u32) -> u64 {
    if rectified && bits >> sign & 1 == 1 { 0 } else { bits }
}

/// The largest half instead of an infinity.
fn largest(to: Type, half: u64) -> u64 {
    let mut exact = false;
    let one = if matches!(to, Type::F16 | Type::F16x2) { Type::F16 } else { Type::Bf16 };
    if !quad(one, half).is_infinite() {
        return half;
    }
    with!(one, F => {
        let most: Quad = F::largest().convert(&mut exact).value;
        narrow(most.copy_sign(quad(one, half)), one, Round::TowardZero)
    })
}

/// `cvt.pack`: two integers that saturate, above the low bits of a third.
fn packed(name: &str) -> Option<Oracle> {
    let parts: Vec<&str> = name.split('.').collect();
    let (signed, bits) = (parts[3].starts_with('s'), parts[3][1..].parse::<u32>().ok()?);
    let (least, most) = if signed { (-1i128 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let word = Type::Signed(32);
    let from = vec![word; parts.len() - 3];
    Some(Oracle::plain(name, if bits == 16 { vec![word; 2] } else { from }, Type::Bits(32), move |x| {
        let [high, low] = [x[0], x[1]].map(|x| word.integer(x).clamp(least, most) as u64 & ones(bits));
        let below = x.get(2).map_or(0, |x| x << (2 * bits));
        (below | high << bits | low) & ones(32)
    }))
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
