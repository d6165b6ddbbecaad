//! Half-precision arithmetic (PTX ISA 9.7.4): each form for one number and for two in a register.

use super::float::{greater, hyperbolic, lesser, lesser_or_nan, signed};
use super::{Action, ArithmeticCheck, Form, Table, op};
use crate::float::{Format, Rounding, fma, narrow, widen};
use crate::jitter::{self, Bound, approximate};
use crate::lanes::{Bf16, F16, Lane, Lanes, Two, WARP};

pub(super) fn forms(table: &mut Table) {
    table.group("Half-precision arithmetic (9.7.4)");
    two(table);
    fused(table);
    one(table);
}

/// A half-precision form, scalar and packed, computed in `f32` and rounded once. That is right for one operation on 11 bits,
/// as 24 ≥ 2·11 + 2 (Figueroa, "When is double rounding innocuous?", 1995).
macro_rules! half_forms {
    ($table:ident, $name:literal, |$a:ident, $b:ident| $body:expr $(, $($with:tt)+)?) => {
        half_forms!(@ $table, $name, "f16", F16, |$a, $b| $body, $($($with)+)?);
        half_forms!(@ $table, $name, "bf16", Bf16, |$a, $b| $body, $($($with)+)?);
    };
    (@ $table:ident, $name:literal, $suffix:literal, $type:ident, |$a:ident| $body:expr) => {
        $table.add(concat!($name, ".", $suffix), op!(|x: $type| {
            let $a = x.0;
            $type($body)
        }));
        $table.add(concat!($name, ".", $suffix, "x2"), op!(|x: Two<$type>| {
            let compute = |$a: f32| $type($body);
            Two(compute(x.0.0), compute(x.1.0))
        }));
    };
    (@ $table:ident, $name:literal, $suffix:literal, $type:ident, |$a:ident, $b:ident| $body:expr, $($with:tt)*) => {
        $table.add(concat!($name, ".", $suffix), half_forms!(@one $type, |$a, $b| $body)$($with)*);
        $table.add(concat!($name, ".", $suffix, "x2"), half_forms!(@two $type, |$a, $b| $body)$($with)*);
    };
    (@one $type:ident, |$a:ident, $b:ident| $body:expr) => {
        op!(|x: $type, y: $type| {
            let ($a, $b) = (x.0, y.0);
            $type($body)
        })
    };
    (@two $type:ident, |$a:ident, $b:ident| $body:expr) => {
        op!(|x: Two<$type>, y: Two<$type>| {
            let compute = |$a: f32, $b: f32| $type($body);
            Two(compute(x.0.0, y.0.0), compute(x.1.0, y.1.0))
        })
    };
}

fn two(table: &mut Table) {
    half_forms!(table, "add.rn", |a, b| a + b);
    half_forms!(table, "sub.rn", |a, b| a - b);
    half_forms!(table, "mul.rn", |a, b| a * b);
    half_forms!(table, "add.rn.sat", |a, b| saturate(a + b));
    half_forms!(table, "sub.rn.sat", |a, b| saturate(a - b));
    half_forms!(table, "mul.sat", |a, b| saturate(a * b));
    half_forms!(table, "mul.rn.sat", |a, b| saturate(a * b));
    half_forms!(table, "min", |a, b| lesser(a.into(), b.into()) as f32, .check(ArithmeticCheck::Bound));
    half_forms!(table, "max", |a, b| -lesser((-a).into(), (-b).into()) as f32, .check(ArithmeticCheck::Bound));
    half_forms!(table, "min.NaN", |a, b| lesser_or_nan(a, b), .check(ArithmeticCheck::Bound));
    half_forms!(table, "max.NaN", |a, b| -lesser_or_nan(-a, -b), .check(ArithmeticCheck::Bound));
    half_forms!(table, "min.xorsign.abs", |a, b| signed(lesser(a.abs().into(), b.abs().into()) as f32, a, b), .check(ArithmeticCheck::Bound));
    half_forms!(table, "max.xorsign.abs", |a, b| signed(greater(a.abs(), b.abs()), a, b), .check(ArithmeticCheck::Bound));
    half_forms!(table, "min.NaN.xorsign.abs", |a, b| signed(lesser_or_nan(a.abs(), b.abs()), a, b), .check(ArithmeticCheck::Bound));
    half_forms!(table, "max.NaN.xorsign.abs", |a, b| signed(-lesser_or_nan(-a.abs(), -b.abs()), a, b), .check(ArithmeticCheck::Bound));
    // Those that may be fused (9.7.4.1 to 9.7.4.3), as in `float.rs`.
    macro_rules! fusible {
        ($($suffix:literal $type:ident $format:ident),+) => {$(
            macro_rules! fused {
                ($end:ident, |$x:ident, $y:ident, $z:ident| ($a:expr, $b:expr, $c:expr)) => {[
                    op!(|x: $type, y: $type, z: $type| {
                        let ($x, $y, $z) = (x.0, y.0, z.0);
                        $type($end(once_or_twice($a, $b, $c, Format::$format)))
                    }),
                    op!(|x: Two<$type>, y: Two<$type>, z: Two<$type>| {
                        let compute = |$x: f32, $y: f32, $z: f32| $type($end(once_or_twice($a, $b, $c, Format::$format)));
                        Two(compute(x.0.0, y.0.0, z.0.0), compute(x.1.0, y.1.0, z.1.0))
                    }),
                ]};
            }
            macro_rules! sums {
                ($sat:literal, $end:ident) => {
                    let [plus, from, minus, neither] = [
                        fused!($end, |x, y, z| (x, y, z)),
                        fused!($end, |x, y, z| (-x, y, z)),
                        fused!($end, |x, y, z| (x, y, -z)),
                        fused!($end, |x, y, z| (-x, y, -z)),
                    ];
                    let [sum, difference] = [
                        [half_forms!(@one $type, |a, b| $end(a + b)), half_forms!(@two $type, |a, b| $end(a + b))],
                        [half_forms!(@one $type, |a, b| $end(a - b)), half_forms!(@two $type, |a, b| $end(a - b))],
                    ];
                    for (at, two) in ["", "x2"].into_iter().enumerate() {
                        let [plus, from, minus, neither] = [plus[at], from[at], minus[at], neither[at]];
                        let suffix = concat!($sat, ".", $suffix);
                        table.add(format!("add{suffix}{two}"), sum[at].sum(&[[plus, from]; 2]));
                        table.add(format!("sub{suffix}{two}"), difference[at].sum(&[[minus, neither], [from, plus]]));
                    }
                };
            }
            sums!("", same);
            sums!(".sat", saturate);
            table.add(
                concat!("mul.", $suffix),
                half_forms!(@one $type, |a, b| a * b).product(half_forms!(@one $type, |a, b| beside(a * b, Format::$format))),
            );
            table.add(
                concat!("mul.", $suffix, "x2"),
                half_forms!(@two $type, |a, b| a * b).product(half_forms!(@two $type, |a, b| beside(a * b, Format::$format))),
            );
        )+};
    }
    fusible!("f16" F16 F16, "bf16" Bf16 BF16);
}

/// A product and a sum that `ptxas` makes one instruction of. With jitter it may also leave them alone, so that the product is rounded,
/// too.
fn once_or_twice(a: f32, b: f32, c: f32, format: Format) -> f32 {
    let nearest = Rounding::NearestEven;
    if jitter::does((a * b).to_bits().into()) {
        widen(narrow((a * b).into(), format, nearest), format) + c
    } else {
        widen(fma(a, b, c, format, nearest), format)
    }
}

/// One of the two numbers of a format around a product, which `f32` holds exactly: the nearest, or with jitter perhaps the other.
fn beside(exact: f32, format: Format) -> f32 {
    if !jitter::does(exact.to_bits().into()) {
        return exact;
    }
    let rounded = |rounding| widen(narrow(exact.into(), format, rounding), format);
    let (nearest, down) = (rounded(Rounding::NearestEven), rounded(Rounding::Down));
    if nearest.to_bits() == down.to_bits() { rounded(Rounding::Up) } else { down }
}

fn same(x: f32) -> f32 {
    x
}

/// Within 0 and 1. NaN and −0 become +0 (9.7.4).
fn saturate(x: f32) -> f32 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

fn fused(table: &mut Table) {
    macro_rules! narrowed {
        ($($name:literal $suffix:literal $type:ident $format:ident, |$x:ident| $body:expr);+ $(;)?) => {$(
            table.add(concat!($name, ".", $suffix), op!(|a: $type, b: $type, c: $type| {
                let $x = fma(a.0, b.0, c.0, Format::$format, Rounding::NearestEven);
                ($body) as u16
            }));
            table.add(concat!($name, ".", $suffix, "x2"), op!(|a: Two<$type>, b: Two<$type>, c: Two<$type>| {
                let compute = |a: $type, b: $type, c: $type| {
                    let $x = fma(a.0, b.0, c.0, Format::$format, Rounding::NearestEven);
                    ($body) as u16
                };
                Two(compute(a.0, b.0, c.0), compute(a.1, b.1, c.1))
            }));
        )+};
    }
    narrowed! {
        "fma.rn" "f16" F16 F16, |x| x;
        "fma.rn" "bf16" Bf16 BF16, |x| x;
        "fma.rn.relu" "f16" F16 F16, |x| rectified(x);
        "fma.rn.relu" "bf16" Bf16 BF16, |x| rectified(x);
        "fma.rn.sat" "f16" F16 F16, |x| if x > 0x7c00 { 0 } else { x.min(0x3c00) };
    }
}

/// The bits of a half, zero if the sign is set. NaN has none.
pub(super) fn rectified(bits: u32) -> u32 {
    if bits & 0x8000 == 0 { bits } else { 0 }
}

fn one(table: &mut Table) {
    half_forms!(@ table, "ex2.approx", "f16", F16, |a| exponential(a, 9.9));
    half_forms!(@ table, "ex2.approx.ftz", "bf16", Bf16, |a| exponential(if a.is_subnormal() { 0.0 } else { a }, 7.0));
    half_forms!(@ table, "tanh.approx", "f16", F16, |a| hyperbolic(a.into(), 11));
    half_forms!(@ table, "tanh.approx", "bf16", Bf16, |a| hyperbolic(a.into(), 8));
}

/// A power of two with a relative error of at most two to the power of `-bits` (9.7.4.11).
fn exponential(a: f32, bits: f64) -> f32 {
    let exact = libm::exp2(a.into());
    approximate(exact, || Bound::Absolute(exact * (-bits).exp2()))
}
