//! Conversion to two numbers in one register, to numbers of eight bits, and to single precision with less fraction (PTX ISA 9.7.9.22,
//! 9.7.9.23).

use super::super::half::rectified;
use super::super::{Action, Form, Table, TaintRule, op};
use crate::float::{Format, Rounding, e4m3, e5m2, narrow, to_e4m3, to_e5m2};
use crate::lanes::{F16, Lane, Lanes, Two, WARP};

pub(super) fn forms(table: &mut Table) {
    pairs(table);
    reduced(table);
}

/// Two numbers in one register. The first source is the upper one.
fn pairs(table: &mut Table) {
    macro_rules! halves {
        ($($mode:literal $rounding:ident),+) => {$(
            halves!(@ $mode, $rounding, "f16" F16);
            halves!(@ $mode, $rounding, "bf16" BF16);
        )+};
        (@ $mode:literal, $rounding:ident, $to:literal $format:ident) => {
            halves!(@ $mode, $rounding, $to $format, "", |x| x);
            halves!(@ $mode, $rounding, $to $format, ".relu", |x| rectified(x));
            halves!(@ $mode, $rounding, $to $format, ".satfinite", |x| finite(x, Format::$format));
            halves!(@ $mode, $rounding, $to $format, ".relu.satfinite", |x| rectified(finite(x, Format::$format)));
        };
        (@ $mode:literal, $rounding:ident, $to:literal $format:ident, $limit:literal, |$x:ident| $value:expr) => {
            let narrowed = format!("cvt.{}{}.{}", $mode, $limit, $to);
            table.add_ftz::<f32, u32>(format!("{narrowed}x2.f32"), op!(|a: f32, b: f32| {
                let narrowed = |x: f32| {
                    let $x = narrow(x.into(), Format::$format, Rounding::$rounding);
                    ($value) as u16
                };
                Two(narrowed(b), narrowed(a))
            }));
            if !$limit.is_empty() {
                table.add(format!("{narrowed}.f32"), op!(|a: f32| {
                    let $x = narrow(a.into(), Format::$format, Rounding::$rounding);
                    ($value) as u16
                }));
            }
        };
    }
    halves!("rn" NearestEven, "rz" Zero);
    macro_rules! eight_bits {
        ($($name:literal: $to:path, $from:path);+) => {$(
            table.add_ftz::<f32, u16>(
                concat!("cvt.rn.satfinite.", $name, ".f32"),
                op!(|a: f32, b: f32| u16::from_le_bytes([$to(b), $to(a)])),
            );
            table.add_ftz::<f32, u16>(concat!("cvt.rn.satfinite.relu.", $name, ".f32"), op!(|a: f32, b: f32| {
                u16::from_le_bytes([b, a].map(|x| if x < 0.0 { 0 } else { $to(x) & 0x7f }))
            }));
            table.add(concat!("cvt.rn.satfinite.relu.", $name, ".f16x2"), op!(|a: Two<F16>| {
                u16::from_le_bytes([a.0.0, a.1.0].map(|x| if x < 0.0 { 0 } else { $to(x) & 0x7f }))
            }).taint(TaintRule::Whole));
            table.add(concat!("cvt.rn.relu.f16x2.", $name), op!(|a: u16| {
                let [low, high] = a.to_le_bytes().map(|byte| rectified(narrow($from(byte).into(), Format::F16, Rounding::NearestEven)) as u16);
                Two(low, high)
            }));
            table.add(
                concat!("cvt.rn.satfinite.", $name, ".f16x2"),
                op!(|a: Two<F16>| u16::from_le_bytes([$to(a.0.0), $to(a.1.0)])).taint(TaintRule::Whole),
            );
            table.add(
                concat!("cvt.rn.f16x2.", $name),
                op!(|a: u16| {
                    let [low, high] = a.to_le_bytes();
                    Two(F16($from(low)), F16($from(high)))
                }),
            );
        )+};
    }
    eight_bits!("e4m3x2": to_e4m3, e4m3; "e5m2x2": to_e5m2, e5m2);
    packed(table);
}

/// The bits of a half, or of the largest number instead of an infinity.
fn finite(bits: u32, format: Format) -> u32 {
    let infinity = narrow(f64::INFINITY, format, Rounding::NearestEven);
    if bits & 0x7fff == infinity { bits - 1 } else { bits }
}

/// Two integers that saturate, above those that are there (9.7.9.23). The first source is the upper one.
fn packed(table: &mut Table) {
    table.add(
        "cvt.pack.sat.u16.s32",
        op!(|a: i32, b: i32| {
            let [a, b] = [a, b].map(|x| x.clamp(0, u16::MAX.into()) as u16);
            Two(b, a)
        }),
    );
    table.add(
        "cvt.pack.sat.s16.s32",
        op!(|a: i32, b: i32| {
            let [a, b] = [a, b].map(|x| x.clamp(i16::MIN.into(), i16::MAX.into()) as u16);
            Two(b, a)
        }),
    );
    macro_rules! narrow {
        ($($name:literal $bits:literal $least:literal $most:literal),+) => {$(
            table.add(concat!("cvt.pack.sat.", $name, ".s32.b32"), op!(|a: i32, b: i32, c: u32| {
                let [a, b] = [a, b].map(|x| x.clamp($least, $most) as u32 & ((1 << $bits) - 1));
                c << (2 * $bits) | a << $bits | b
            }));
        )+};
    }
    narrow!("u8" 8 0 255, "s8" 8 -128 127, "u4" 4 0 15, "s4" 4 -8 7, "u2" 2 0 3, "s2" 2 -2 1);
}

/// Single precision with ten bits of fraction, which tensor cores take.
fn reduced(table: &mut Table) {
    // An H200 keeps a quiet NaN here, and has the canonical one below.
    table.add_ftz::<f32, u32>(
        "cvt.rna.tf32.f32",
        op!(|a: f32| if a.is_nan() { (a.to_bits() | 0x0040_0000) & !0x1fff } else { tf32(a, 0x1000) }),
    );
    table.add_ftz::<f32, u32>(
        "cvt.rna.satfinite.tf32.f32",
        op!(|a: f32| if a.is_nan() { (a.to_bits() | 0x0040_0000) & !0x1fff } else { finite_tf32(tf32(a, 0x1000)) }),
    );
    macro_rules! limits {
        ($name:literal, |$a:ident| $body:expr) => {
            table.add_ftz::<f32, u32>(concat!("cvt.", $name, ".tf32.f32"), op!(|$a: f32| $body));
            table.add(concat!("cvt.", $name, ".relu.tf32.f32"), op!(|$a: f32| rectified_tf32($body)));
            table.add(concat!("cvt.", $name, ".satfinite.tf32.f32"), op!(|$a: f32| finite_tf32($body)));
            table.add(
                concat!("cvt.", $name, ".satfinite.relu.tf32.f32"),
                op!(|$a: f32| rectified_tf32(finite_tf32($body))),
            );
        };
    }
    limits!("rn", |a| tf32(a, 0xfff + (a.to_bits() >> 13 & 1)));
    limits!("rz", |a| tf32(a, 0));
}

/// The largest number instead of an infinity.
fn finite_tf32(bits: u32) -> u32 {
    if bits & 0x7fff_ffff == 0x7f80_0000 { bits - 0x2000 } else { bits }
}

/// Zero if the sign is set.
fn rectified_tf32(bits: u32) -> u32 {
    if bits >> 31 == 0 { bits } else { 0 }
}

/// `a` plus something below the last bit that is kept, cut. NaN is the canonical one, as far as it is kept.
fn tf32(a: f32, half: u32) -> u32 {
    (if a.is_nan() { 0x7fff_ffff } else { a.to_bits() + half }) & !0x1fff
}
