//! Floating-point arithmetic (PTX ISA 9.7.3 to 9.7.5): IEEE where the ISA requires it, and correctly rounded where it allows
//! an approximation.

use std::any::TypeId;

use super::integer::each;
use super::{Action, ArithmeticCheck, Flushed, Form, Table, op};
use crate::exact::{self, Precision};
use crate::float::{Rounding, flush};
use crate::jitter::{self, Bound, approximate};
use crate::lanes::{Bf16, F16, Floats, Lane, Lanes, Two, WARP};

pub(super) fn forms(table: &mut Table) {
    arithmetic(table);
    directed(table);
    fused(table);
    signs(table);
    roots(table);
    approximations(table);
}

/// Adds forms in single and in double precision, and with `.ftz`.
macro_rules! floats {
    ($table:ident, $name:literal, |$a:ident| $body:expr) => {
        $table.add_ftz::<f32, f32>(concat!($name, ".f32"), op!(|$a: f32| $body));
        $table.add(concat!($name, ".f64"), op!(|$a: f64| $body));
    };
    ($table:ident, $name:literal, |$a:ident, $b:ident| $body:expr) => {
        $table.add_ftz::<f32, f32>(concat!($name, ".f32"), op!(|$a: f32, $b: f32| $body));
        $table.add(concat!($name, ".f64"), op!(|$a: f64, $b: f64| $body));
    };
}

/// The fused forms of a sum and of a difference. Each has a pair for its first and one for its second term: with a product there, and
/// with a negated product.
macro_rules! fusions {
    ($type:ident, $fuse:ident) => {{
        let plus =
            [op!(|x: $type, y: $type, z: $type| $fuse!(x, y, z)), op!(|x: $type, y: $type, z: $type| $fuse!(-x, y, z))];
        let minus = [
            op!(|x: $type, y: $type, z: $type| $fuse!(x, y, -z)),
            op!(|x: $type, y: $type, z: $type| $fuse!(-x, y, -z)),
        ];
        ([plus, plus], [minus, [plus[1], plus[0]]])
    }};
}

/// A product and a sum that `ptxas` makes one instruction of. With jitter it may also leave them alone.
macro_rules! fused {
    ($a:expr, $b:expr, $c:expr) => {
        if jitter::does(Lane::bits($a * $b)) { $a * $b + $c } else { ($a).mul_add($b, $c) }
    };
}

/// The same with `.ftz`.
macro_rules! fused_and_flushed {
    ($a:expr, $b:expr, $c:expr) => {
        if jitter::does(Lane::bits($a * $b)) {
            flush(product_or_zero($a, $b, Rounding::NearestEven) + flush($c))
        } else {
            fused_or_zero($a, $b, $c, Rounding::NearestEven)
        }
    };
}

fn arithmetic(table: &mut Table) {
    table.group("Floating-point arithmetic (9.7.3)");
    // What `.ftz` does, for the forms that are decoded into this and others.
    table.add("flush.f32", op!(|a: f32| flush(a)));
    table.add("flush.f32x2", op!(|a: Floats| Floats(flush(a.0), flush(a.1))));
    table.add("flush.f16", op!(|a: u16| flush_half(a)));
    table.add("flush.f16x2", op!(|a: Two<u16>| Two(flush_half(a.0), flush_half(a.1))));
    let (sum, difference) = fusions!(f32, fused);
    table.add("add.f32", op!(|a: f32, b: f32| a + b).sum(&sum));
    table.add("sub.f32", op!(|a: f32, b: f32| a - b).sum(&difference));
    let (sum, difference) = fusions!(f64, fused);
    table.add("add.f64", op!(|a: f64, b: f64| a + b).sum(&sum));
    table.add("sub.f64", op!(|a: f64, b: f64| a - b).sum(&difference));
    let (sum, difference) = fusions!(f32, fused_and_flushed);
    table.add("add.ftz.f32", op!(|a: f32, b: f32| flush(flush(a) + flush(b))).sum(&sum).flushed());
    table.add("sub.ftz.f32", op!(|a: f32, b: f32| flush(flush(a) - flush(b))).sum(&difference).flushed());
    floats!(table, "add.rn", |a, b| a + b);
    floats!(table, "sub.rn", |a, b| a - b);
    floats!(table, "mul.rn", |a, b| a * b);
    floats!(table, "div.rn", |a, b| a / b);
    table.add("mul.f32", op!(|a: f32, b: f32| a * b).product(op!(|a: f32, b: f32| beside!(a, b))));
    table.add("mul.f64", op!(|a: f64, b: f64| a * b).product(op!(|a: f64, b: f64| beside!(a, b))));
    let flushed = op!(|a: f32, b: f32| product_or_zero(a, b, Rounding::NearestEven));
    table.add("mul.ftz.f32", flushed.product(flushed).flushed());
    table.add("mul.rn.ftz.f32", op!(|a: f32, b: f32| product_or_zero(a, b, Rounding::NearestEven)));
    bounds(table);
}

/// The bits of a half, those of zero for a subnormal one.
fn flush_half(bits: u16) -> u16 {
    if bits & 0x7c00 == 0 { bits & 0x8000 } else { bits }
}

/// Products without a rounding modifier, as they are where a sum without one uses them: a GPU may fuse the two (9.7.3.3). The
/// fused result is between those for the two numbers around the exact product, so jitter takes one of these.
macro_rules! beside {
    ($a:ident, $b:ident) => {{
        let product = $a * $b;
        let rest = $a.mul_add($b, -product);
        match () {
            () if !jitter::does(Lane::bits(product)) => product,
            // A product beyond the largest number is finite until the sum is rounded.
            () if product.is_infinite() && $a.is_finite() && $b.is_finite() && product > 0.0 => product.next_down(),
            () if product.is_infinite() && $a.is_finite() && $b.is_finite() => product.next_up(),
            () if !rest.is_finite() || rest == 0.0 => product,
            () if rest > 0.0 => product.next_up(),
            () => product.next_down(),
        }
    }};
}
use beside;

fn bounds(table: &mut Table) {
    let mut add = |name, form: Form| table.add_ftz::<f32, f32>(name, form.check(ArithmeticCheck::Bound));
    add("min.f32", op!(|a: f32, b: f32| lesser(a.into(), b.into()) as f32));
    add("max.f32", op!(|a: f32, b: f32| -lesser((-a).into(), (-b).into()) as f32));
    add("min.NaN.f32", op!(|a: f32, b: f32| lesser_or_nan(a, b)));
    add("max.NaN.f32", op!(|a: f32, b: f32| -lesser_or_nan(-a, -b)));
    // Of the magnitudes.
    add("min.abs.f32", op!(|a: f32, b: f32| lesser(a.abs().into(), b.abs().into()) as f32));
    add("max.abs.f32", op!(|a: f32, b: f32| greater(a.abs(), b.abs())));
    add("min.NaN.abs.f32", op!(|a: f32, b: f32| lesser_or_nan(a.abs(), b.abs())));
    add("max.NaN.abs.f32", op!(|a: f32, b: f32| -lesser_or_nan(-a.abs(), -b.abs())));
    table.add("min.f64", op!(|a: f64, b: f64| lesser(a, b)).check(ArithmeticCheck::Bound));
    table.add("max.f64", op!(|a: f64, b: f64| -lesser(-a, -b)).check(ArithmeticCheck::Bound));
    // The magnitudes are compared, and the result has the exclusive or of the signs, also that of NaN.
    macro_rules! signs {
        ($($name:literal $rest:literal: |$a:ident, $b:ident| $body:expr);+ $(;)?) => {$(
            table.add(concat!($name, $rest), op!(|x: f32, y: f32| {
                let ($a, $b) = (x.abs(), y.abs());
                signed($body, x, y)
            }));
            table.add(concat!($name, ".ftz", $rest), op!(|x: f32, y: f32| {
                let ($a, $b) = (flush(x.abs()), flush(y.abs()));
                signed($body, x, y)
            }));
        )+};
    }
    signs! {
        "min" ".xorsign.abs.f32": |a, b| lesser(a.into(), b.into()) as f32;
        "max" ".xorsign.abs.f32": |a, b| greater(a, b);
        "min" ".NaN.xorsign.abs.f32": |a, b| lesser_or_nan(a, b);
        "max" ".NaN.xorsign.abs.f32": |a, b| -lesser_or_nan(-a, -b);
    }
}

/// The greater of two numbers; of a number and NaN, the number.
pub(super) fn greater(a: f32, b: f32) -> f32 {
    -lesser((-a).into(), (-b).into()) as f32
}

/// A magnitude with the exclusive or of two signs.
pub(super) fn signed(magnitude: f32, a: f32, b: f32) -> f32 {
    if a.is_sign_negative() == b.is_sign_negative() { magnitude } else { -magnitude }
}

/// The rounding modes that processors do not offer.
fn directed(table: &mut Table) {
    macro_rules! modes {
        ($type:ident $precision:ident $name:literal: $($suffix:literal $mode:ident),+) => {$(
            modes!(@ $type $name $suffix, (Precision::$precision, Rounding::$mode));
        )+};
        (@ $type:ident $name:literal $suffix:literal, $round:expr) => {
            table.add_ftz::<$type, $type>(concat!("add.", $suffix, ".", $name), op!(|a: $type, b: $type| exact::sum(a.into(), b.into(), $round) as $type));
            table.add_ftz::<$type, $type>(concat!("sub.", $suffix, ".", $name), op!(|a: $type, b: $type| exact::sum(a.into(), (-b).into(), $round) as $type));
            table.add_ftz::<$type, $type>(concat!("mul.", $suffix, ".", $name), op!(|a: $type, b: $type| exact::product(a.into(), b.into(), $round) as $type));
            table.add_ftz::<$type, $type>(concat!("div.", $suffix, ".", $name), op!(|a: $type, b: $type| exact::quotient(a.into(), b.into(), $round) as $type));
            table.add_ftz::<$type, $type>(concat!("rcp.", $suffix, ".", $name), op!(|a: $type| exact::quotient(1.0, a.into(), $round) as $type));
            table.add_ftz::<$type, $type>(concat!("sqrt.", $suffix, ".", $name), op!(|a: $type| exact::root(a.into(), $round) as $type));
            table.add_ftz::<$type, $type>(concat!("fma.", $suffix, ".", $name), op!(|a: $type, b: $type, c: $type| {
                exact::fused(a.into(), b.into(), c.into(), $round) as $type
            }));
        };
    }
    modes!(f32 SINGLE "f32": "rz" Zero, "rm" Down, "rp" Up);
    table.add("mul.rm.ftz.f32", op!(|a: f32, b: f32| product_or_zero(a, b, Rounding::Down)));
    table.add("mul.rp.ftz.f32", op!(|a: f32, b: f32| product_or_zero(a, b, Rounding::Up)));
    table.add("fma.rm.ftz.f32", op!(|a: f32, b: f32, c: f32| fused_or_zero(a, b, c, Rounding::Down)));
    table.add("fma.rp.ftz.f32", op!(|a: f32, b: f32, c: f32| fused_or_zero(a, b, c, Rounding::Up)));
    modes!(f64 DOUBLE "f64": "rz" Zero, "rm" Down, "rp" Up);
}

/// The lesser of two numbers; of a number and NaN, the number. −0 is less than +0 (9.7.3.11).
pub(super) fn lesser(a: f64, b: f64) -> f64 {
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

pub(super) fn lesser_or_nan(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { lesser(a.into(), b.into()) as f32 }
}

fn fused(table: &mut Table) {
    table.group("Fused multiply-add (9.7.3.6)");
    table.add("fma.rn.f32", op!(|a: f32, b: f32, c: f32| a.mul_add(b, c)));
    table.add("fma.rn.f64", op!(|a: f64, b: f64, c: f64| a.mul_add(b, c)));
    table.add("fma.rn.ftz.f32", op!(|a: f32, b: f32, c: f32| fused_or_zero(a, b, c, Rounding::NearestEven)));
}

/// A product with `.ftz`. An H200 flushes what is subnormal before it is rounded, even if it would round to the least normal number.
fn product_or_zero(a: f32, b: f32, rounding: Rounding) -> f32 {
    let (a, b) = (f64::from(flush(a)), f64::from(flush(b)));
    normal_or_zero(exact::product(a, b, (Precision::SINGLE, rounding)), || {
        exact::product(a, b, (Precision::SINGLE, Rounding::Zero))
    })
}

/// A fused product and sum with `.ftz`, as [`product_or_zero`].
fn fused_or_zero(a: f32, b: f32, c: f32, rounding: Rounding) -> f32 {
    let (a, b, c) = (f64::from(flush(a)), f64::from(flush(b)), f64::from(flush(c)));
    normal_or_zero(exact::fused(a, b, c, (Precision::SINGLE, rounding)), || {
        exact::fused(a, b, c, (Precision::SINGLE, Rounding::Zero))
    })
}

/// `rounded`, or zero where the result that is `cut` off is subnormal.
fn normal_or_zero(rounded: f64, cut: impl FnOnce() -> f64) -> f32 {
    let rounded = rounded as f32;
    if rounded.abs() == f32::MIN_POSITIVE && (cut() as f32).is_subnormal() {
        return 0f32.copysign(rounded);
    }
    flush(rounded)
}

fn signs(table: &mut Table) {
    table.group("Sign of a floating-point number (9.7.3.9, 9.7.3.10, 9.7.3.2)");
    table.add("neg.f32", op!(|a: f32| -a).negates(|of| [TypeId::of::<f32>(), TypeId::of::<Flushed>()].contains(&of)));
    table.add("neg.ftz.f32", op!(|a: f32| flush(-a)).negates(|of| of == TypeId::of::<Flushed>()));
    table.add("neg.f64", op!(|a: f64| -a).negates(|of| of == TypeId::of::<f64>()));
    floats!(table, "abs", |a| a.abs());
    table.add("neg.f16", op!(|a: u16| a ^ 0x8000).bits(0).negates(|of| of == TypeId::of::<F16>()));
    table.add("neg.bf16", op!(|a: u16| a ^ 0x8000).bits(0).negates(|of| of == TypeId::of::<Bf16>()));
    each!(table, "abs", ["f16": u16, "bf16": u16], |a| a & 0x7fff, .bits(0));
    table.add("neg.f16x2", op!(|a: u32| a ^ 0x8000_8000).bits(0).negates(|of| of == TypeId::of::<Two<F16>>()));
    // `ptxas` makes an instruction of this one.
    table.add("neg.bf16x2", op!(|a: u32| a ^ 0x8000_8000).bits(0));
    each!(table, "abs", ["f16x2": u32, "bf16x2": u32], |a| a & 0x7fff_7fff, .bits(0));
    // The sign of the first, the magnitude of the second.
    each!(table, "copysign", ["f32": f32, "f64": f64], |a, b| b.copysign(a));
}

fn roots(table: &mut Table) {
    table.group("Reciprocal and roots, IEEE (9.7.3.12, 9.7.3.14)");
    floats!(table, "rcp.rn", |a| 1.0 / a);
    floats!(table, "sqrt.rn", |a| a.sqrt());
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
        // The bound is that of operands within 2π (9.7.3.18, 9.7.3.19).
        "sin": |a| libm::sin(a), |_exact| Bound::Absolute(ERROR_20_5);
        "cos": |a| libm::cos(a), |_exact| Bound::Absolute(ERROR_20_5);
    }
    table.add("tanh.approx.f32", op!(|a: f32| hyperbolic(a.into(), 11)));
    table.add("div.approx.f32", op!(|a: f32, b: f32| divide(a, b)));
    table.add("div.approx.ftz.f32", op!(|a: f32, b: f32| flush(divide(flush(a), flush(b)))));
    table.add_ftz::<f32, f32>("div.full.f32", op!(|a: f32, b: f32| quotient(a, b)));
    table.add("rcp.approx.ftz.f64", op!(|a: f64| coarse(a, |a| 1.0 / a)));
    table.add("rsqrt.approx.f64", op!(|a: f64| exact::reciprocal_root(a, (Precision::DOUBLE, Rounding::NearestEven))));
    table.add("rsqrt.approx.ftz.f64", op!(|a: f64| coarse(a, |a| 1.0 / a.sqrt())));
}

/// 2^-22
const ERROR_22: f64 = 1.0 / 4_194_304.0;
/// 2^-22.9, rounded down.
const ERROR_22_9: f64 = 1.277_6e-7;
/// 2^-20.5, rounded down.
const ERROR_20_5: f64 = 6.743e-7;
/// 2^-23
const ERROR_23: f64 = ERROR_22 / 2.0;

/// A hyperbolic tangent with a relative error of at most two to the power of `-bits`.
pub(super) fn hyperbolic(a: f64, bits: i32) -> f32 {
    let exact = libm::tanh(a);
    approximate(exact, || Bound::Absolute(exact.abs() * 2f64.powi(-bits)))
}

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

/// An approximation on the upper word of a double: the lower words of argument and result are zero, and subnormals are
/// flushed (9.7.3.13, 9.7.3.17).
fn coarse(a: f64, f: fn(f64) -> f64) -> f64 {
    let upper = |x: f64| f64::from_bits(x.to_bits() & !0xffff_ffff);
    let flush = |x: f64| if x.is_subnormal() { 0f64.copysign(x) } else { x };
    let exact = f(flush(upper(a)));
    // No bound is documented. Jitter moves it by a unit of the upper word.
    let exact = if exact.is_normal() && jitter::does(exact.to_bits()) { exact * (1.0 + 2f64.powi(-20)) } else { exact };
    if exact.is_nan() {
        return f64::from_bits(0x7fff_ffff_0000_0000);
    }
    // To the nearest number whose lower word is zero.
    flush(upper(f64::from_bits(exact.to_bits().saturating_add(if exact.is_finite() { 0x8000_0000 } else { 0 }))))
}
