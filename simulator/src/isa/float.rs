//! Floating-point arithmetic (PTX ISA 9.7.3 to 9.7.5): IEEE where the ISA requires it, and correctly rounded where it allows
//! an approximation.

use super::integer::each;
use super::{Action, Table, op};
use crate::float::{Format, Rounding, add_odd, add_rz, flush, fma, narrow};
use crate::jitter::{self, Bound, approximate};
use crate::lanes::{Bf16, F16, Lane, Lanes, Two, WARP};

pub(super) fn forms(table: &mut Table) {
    arithmetic(table);
    directed(table);
    halves(table);
    fused(table);
    signs(table);
    roots(table);
    approximations(table);
}

macro_rules! floats {
    ($table:ident, [$($name:literal),+], |$a:ident, $b:ident| $body:expr) => {
        $(each!($table, $name, ["f32": f32, "f64": f64], |$a, $b| $body);)+
    };
}

fn arithmetic(table: &mut Table) {
    table.group("Floating-point arithmetic (9.7.3)");
    floats!(table, ["add", "add.rn"], |a, b| a + b);
    floats!(table, ["sub", "sub.rn"], |a, b| a - b);
    floats!(table, ["mul", "mul.rn"], |a, b| a * b);
    floats!(table, ["div.rn"], |a, b| a / b);
    table.add("add.ftz.f32", op!(|a: f32, b: f32| flush(flush(a) + flush(b))));
    table.add("sub.ftz.f32", op!(|a: f32, b: f32| flush(flush(a) - flush(b))));
    table.add("mul.ftz.f32", op!(|a: f32, b: f32| flush(flush(a) * flush(b))));
    table.add("add.rz.f64", op!(|a: f64, b: f64| add_rz(a, b)));
    table.add("min.f64", op!(|a: f64, b: f64| lesser(a, b)));
    table.add("max.f64", op!(|a: f64, b: f64| -lesser(-a, -b)));
    table.add("min.f32", op!(|a: f32, b: f32| lesser(a.into(), b.into()) as f32));
    table.add("max.f32", op!(|a: f32, b: f32| -lesser((-a).into(), (-b).into()) as f32));
    table.add("min.NaN.f32", op!(|a: f32, b: f32| lesser_or_nan(a, b)));
    table.add("max.NaN.f32", op!(|a: f32, b: f32| -lesser_or_nan(-a, -b)));
}

/// Single precision in the rounding modes that processors do not offer: in double precision, where a product is exact and what is
/// not is rounded to odd, and then once to the result.
fn directed(table: &mut Table) {
    macro_rules! modes {
        ($($suffix:literal $mode:ident),+) => {$(
            table.add(concat!("add.", $suffix, ".f32"), op!(|a: f32, b: f32| sum(a, b, Rounding::$mode)));
            table.add(concat!("sub.", $suffix, ".f32"), op!(|a: f32, b: f32| sum(a, -b, Rounding::$mode)));
            table.add(concat!("mul.", $suffix, ".f32"), op!(|a: f32, b: f32| single(f64::from(a) * f64::from(b), Rounding::$mode)));
            table.add(concat!("div.", $suffix, ".f32"), op!(|a: f32, b: f32| single(quotient_odd(a, b), Rounding::$mode)));
            table.add(concat!("rcp.", $suffix, ".f32"), op!(|a: f32| single(quotient_odd(1.0, a), Rounding::$mode)));
            table.add(concat!("sqrt.", $suffix, ".f32"), op!(|a: f32| single(root_odd(a), Rounding::$mode)));
        )+};
    }
    modes!("rz" Zero, "rm" Down, "rp" Up);
}

fn single(x: f64, rounding: Rounding) -> f32 {
    f32::from_bits(narrow(x, Format::F32, rounding))
}

/// An exact zero from terms of opposite signs is negative in rounding down (IEEE 754, 6.3).
fn sum(a: f32, b: f32, rounding: Rounding) -> f32 {
    let sum = add_odd(a.into(), b.into());
    let cancelled = sum == 0.0 && a.is_sign_negative() != b.is_sign_negative();
    single(if cancelled && rounding == Rounding::Down { -0.0 } else { sum }, rounding)
}

/// A quotient, rounded to odd.
fn quotient_odd(a: f32, b: f32) -> f64 {
    let (a, b) = (f64::from(a), f64::from(b));
    let near = a / b;
    // The remainder is exact.
    to_odd(near, near.mul_add(-b, a) * b.signum())
}

/// A square root, rounded to odd.
fn root_odd(a: f32) -> f64 {
    let a = f64::from(a);
    let near = a.sqrt();
    to_odd(near, near.mul_add(-near, a))
}

/// A number that is rounded to the nearest, and of which the rest has this sign, rounded to odd.
fn to_odd(near: f64, rest: f64) -> f64 {
    if rest == 0.0 || rest.is_nan() || !near.is_finite() {
        return near;
    }
    let toward_zero = if (rest < 0.0) == (near < 0.0) { near } else { f64::from_bits(near.to_bits() - 1) };
    f64::from_bits(toward_zero.to_bits() | 1)
}

/// The lesser of two numbers; of a number and NaN, the number. −0 is less than +0 (9.7.3.11).
fn lesser(a: f64, b: f64) -> f64 {
    match () {
        () if a.is_nan() => b,
        () if b.is_nan() => a,
        () if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        () => {
            if a < b {
                a
            } else {
                b
            }
        }
    }
}

fn lesser_or_nan(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { lesser(a.into(), b.into()) as f32 }
}

/// A half-precision form, scalar and packed, computed in `f32` and rounded once. That is right for one operation on 11 bits,
/// as 24 ≥ 2·11 + 2 (Figueroa, "When is double rounding innocuous?", 1995).
macro_rules! half_forms {
    ($table:ident, [$($name:literal),+], |$a:ident, $b:ident| $body:expr) => {$(
        half_forms!(@ $table, concat!($name, ".f16"), concat!($name, ".f16x2"), F16, |$a, $b| $body);
        half_forms!(@ $table, concat!($name, ".bf16"), concat!($name, ".bf16x2"), Bf16, |$a, $b| $body);
    )+};
    (@ $table:ident, $name:expr, $packed:expr, $type:ident, |$a:ident, $b:ident| $body:expr) => {
        $table.add($name, op!(|x: $type, y: $type| {
            let ($a, $b) = (x.0, y.0);
            $type($body)
        }));
        $table.add($packed, op!(|x: Two<$type>, y: Two<$type>| {
            let compute = |$a: f32, $b: f32| $type($body);
            Two(compute(x.0.0, y.0.0), compute(x.1.0, y.1.0))
        }));
    };
}

fn halves(table: &mut Table) {
    table.group("Half-precision arithmetic (9.7.4)");
    half_forms!(table, ["add", "add.rn"], |a, b| a + b);
    half_forms!(table, ["sub", "sub.rn"], |a, b| a - b);
    half_forms!(table, ["mul", "mul.rn"], |a, b| a * b);
    half_forms!(table, ["min"], |a, b| lesser(a.into(), b.into()) as f32);
    half_forms!(table, ["max"], |a, b| -lesser((-a).into(), (-b).into()) as f32);
    half_forms!(table, ["min.NaN"], |a, b| lesser_or_nan(a, b));
    half_forms!(table, ["max.NaN"], |a, b| -lesser_or_nan(-a, -b));
}

fn fused(table: &mut Table) {
    table.group("Fused multiply-add (9.7.3.6, 9.7.4.4)");
    table.add("fma.rn.f32", op!(|a: f32, b: f32, c: f32| a.mul_add(b, c)));
    table.add("fma.rn.f64", op!(|a: f64, b: f64, c: f64| a.mul_add(b, c)));
    table.add("fma.rn.ftz.f32", op!(|a: f32, b: f32, c: f32| flush(flush(a).mul_add(flush(b), flush(c)))));
    macro_rules! directed {
        ($($name:literal $mode:ident),+) => {$(
            table.add($name, op!(|a: f32, b: f32, c: f32| f32::from_bits(fma(a, b, c, Format::F32, Rounding::$mode))));
        )+};
    }
    directed!("fma.rm.f32" Down, "fma.rp.f32" Up, "fma.rz.f32" Zero);
    macro_rules! narrowed {
        ($($name:literal $packed:literal $type:ident $format:ident),+) => {$(
            table.add($name, op!(|a: $type, b: $type, c: $type| {
                fma(a.0, b.0, c.0, Format::$format, Rounding::NearestEven) as u16
            }));
            table.add($packed, op!(|a: Two<$type>, b: Two<$type>, c: Two<$type>| {
                let low = fma(a.0.0, b.0.0, c.0.0, Format::$format, Rounding::NearestEven);
                low | fma(a.1.0, b.1.0, c.1.0, Format::$format, Rounding::NearestEven) << 16
            }));
        )+};
    }
    narrowed!("fma.rn.f16" "fma.rn.f16x2" F16 F16, "fma.rn.bf16" "fma.rn.bf16x2" Bf16 BF16);
}

fn signs(table: &mut Table) {
    table.group("Sign of a floating-point number (9.7.3.9, 9.7.3.10, 9.7.3.2)");
    each!(table, "neg", ["f32": f32, "f64": f64], |a| -a);
    each!(table, "abs", ["f32": f32, "f64": f64], |a| a.abs());
    each!(table, "neg", ["f16": u16, "bf16": u16], |a| a ^ 0x8000);
    each!(table, "abs", ["f16": u16, "bf16": u16], |a| a & 0x7fff);
    each!(table, "neg", ["f16x2": u32, "bf16x2": u32], |a| a ^ 0x8000_8000);
    each!(table, "abs", ["f16x2": u32, "bf16x2": u32], |a| a & 0x7fff_7fff);
    // The sign of the first, the magnitude of the second.
    floats!(table, ["copysign"], |a, b| b.copysign(a));
}

fn roots(table: &mut Table) {
    table.group("Reciprocal and roots, IEEE (9.7.3.12, 9.7.3.14)");
    each!(table, "rcp.rn", ["f32": f32, "f64": f64], |a| 1.0 / a);
    each!(table, "sqrt.rn", ["f32": f32, "f64": f64], |a| a.sqrt());
}

/// Approximations. The ISA documents a bound; the result here is the correctly rounded value. Each has the documented bound,
/// within which jitter may move it.
fn approximations(table: &mut Table) {
    table.group("Approximations (9.7.3.8, 9.7.3.12 to 9.7.3.21)");
    macro_rules! approximate {
        ($($name:literal: |$a:ident| $body:expr, |$exact:ident| $bound:expr);+ $(;)?) => {$(
            table.add(concat!($name, ".approx.f32"), op!(|$a: f32| {
                let $a = f64::from($a);
                let $exact = $body;
                approximate($exact, || $bound)
            }));
            table.add(concat!($name, ".approx.ftz.f32"), op!(|$a: f32| {
                let $a = f64::from(flush($a));
                let $exact = $body;
                flush(approximate($exact, || $bound))
            }));
        )+};
    }
    approximate! {
        "ex2": |a| libm::exp2(a), |_exact| Bound::Ulps(2);
        // The error is absolute between 1/2 and 2, where the logarithm may be small.
        "lg2": |a| libm::log2(a), |exact| Bound::Absolute(if exact.abs() < 1.0 { ERROR_22 } else { ERROR_22 * exact.abs() });
        "rcp": |a| 1.0 / a, |_exact| Bound::Ulps(1);
        "rsqrt": |a| 1.0 / a.sqrt(), |exact| Bound::Absolute(ERROR_22_9 * exact);
        "sqrt": |a| a.sqrt(), |exact| Bound::Absolute(ERROR_23 * exact);
    }
    table.add("div.approx.f32", op!(|a: f32, b: f32| divide(a, b)));
    table.add("div.approx.ftz.f32", op!(|a: f32, b: f32| flush(divide(flush(a), flush(b)))));
    table.add("div.full.f32", op!(|a: f32, b: f32| quotient(a, b)));
    table.add("rcp.approx.ftz.f64", op!(|a: f64| coarse(a, |a| 1.0 / a)));
    table.add("rsqrt.approx.ftz.f64", op!(|a: f64| coarse(a, |a| 1.0 / a.sqrt())));
}

/// 2^-22
const ERROR_22: f64 = 1.0 / 4_194_304.0;
/// 2^-22.9, rounded down.
const ERROR_22_9: f64 = 1.277_6e-7;
/// 2^-23
const ERROR_23: f64 = ERROR_22 / 2.0;

/// A quotient within two units in the last place. Without jitter it is correctly rounded: 53 bits are enough for that.
fn quotient(a: f32, b: f32) -> f32 {
    approximate(f64::from(a) / f64::from(b), || Bound::Ulps(2))
}

/// `div.approx`: for divisors beyond 2^126 the quotient is 0, or NaN if the dividend is infinite (9.7.3.8).
fn divide(a: f32, b: f32) -> f32 {
    if b.is_finite() && b.abs() > 2f32.powi(126) {
        return if a.is_infinite() || a.is_nan() { f32::NAN } else { 0f32.copysign(a * b.signum()) };
    }
    quotient(a, b)
}

/// Products without a rounding modifier, as they are where a sum without one uses them: a GPU may fuse the two (9.7.3.3). The
/// fused result is between those for the two numbers around the exact product, so jitter takes one of these.
pub(super) fn fusible(table: &mut Table) {
    each!(table, "mul", ["f32": f32, "f64": f64], |a, b| {
        let product = a * b;
        let rest = a.mul_add(b, -product);
        match () {
            () if !rest.is_finite() || rest == 0.0 || !jitter::does(Lane::bits(product)) => product,
            () if rest > 0.0 => product.next_up(),
            () => product.next_down(),
        }
    });
}

/// An approximation on the upper word of a double: the lower words of argument and result are zero, and subnormals are
/// flushed (9.7.3.13, 9.7.3.17).
fn coarse(a: f64, f: fn(f64) -> f64) -> f64 {
    let upper = |x: f64| f64::from_bits(x.to_bits() & !0xffff_ffff);
    let flush = |x: f64| if x.is_subnormal() { 0f64.copysign(x) } else { x };
    let exact = f(flush(upper(a)));
    if exact.is_nan() {
        return f64::from_bits(0x7fff_ffff_0000_0000);
    }
    // To the nearest number whose lower word is zero.
    flush(upper(f64::from_bits(exact.to_bits().saturating_add(if exact.is_finite() { 0x8000_0000 } else { 0 }))))
}
