//! Conversion, moves and address spaces (PTX ISA 9.7.9: mov, cvt, cvta).

#![allow(clippy::cast_lossless, clippy::unnecessary_cast, reason = "one macro converts between all pairs of types")]

use std::any::TypeId;

use super::half::rectified;
use super::{Action, ArithmeticCheck, Flushed, Form, Fusion, Space, TYPES, Table, TaintRule, op, with_ftz};
use crate::float::{Format, Rounding, e4m3, e5m2, narrow, to_e4m3, to_e5m2};
use crate::lanes::{Bf16, F16, Lane, Lanes, Two, WARP};

pub(super) fn forms(table: &mut Table) {
    moves(table);
    integers(table);
    to_float(table);
    to_integer(table);
    between_floats(table);
    pairs(table);
    reduced(table);
}

/// What a move does.
pub fn copy(a: &Lanes, d: &mut Lanes) {
    *d = *a;
}

fn moves(table: &mut Table) {
    table.group("Moves (9.7.9.3)");
    for (bytes, types) in [(1, &["pred", "b8"][..])].into_iter().chain(TYPES) {
        for suffix in types {
            let action = Action::Move { bytes };
            let form = Form::from(action).taint(|_| TaintRule::Bytes(bytes));
            table.add(format!("mov.{suffix}"), Form { fusion: Some(Fusion::Copy), ..form });
        }
    }
    // A move between a vector and a scalar is decoded into these.
    table.add("unpack.0", op!(|a: u64| a));
    table.add("unpack.8", op!(|a: u64| a >> 8));
    table.add("unpack.16", op!(|a: u64| a >> 16));
    table.add("unpack.24", op!(|a: u64| a >> 24));
    table.add("unpack.32", op!(|a: u64| a >> 32));
    table.add("unpack.48", op!(|a: u64| a >> 48));
    table.add("pack.8", op!(|low: u8, high: u8| u16::from_le_bytes([low, high])));
    table.add("pack.16", op!(|low: u16, high: u16| u32::from(low) | u32::from(high) << 16));
    table.add("pack.32", op!(|low: u32, high: u32| u64::from(low) | u64::from(high) << 32));

    table.group("Address spaces (9.7.9.20, 9.7.9.21)");
    // Global addresses are their own generic addresses; the other spaces have windows (see `isa/memory.rs`).
    table.add("cvta.global.u64", op!(|a: u64| a).taint(TaintRule::Bytes));
    table.add("cvta.to.global.u64", op!(|a: u64| a).taint(TaintRule::Bytes));
    table.add("cvta.shared.u64", op!(|a: u64| a | Space::SHARED_WINDOW).taint(TaintRule::Bytes));
    table.add("cvta.to.shared.u64", op!(|a: u64| a & !Space::SHARED_WINDOW).taint(TaintRule::Bytes));
    table.add("cvta.const.u64", op!(|a: u64| a).taint(TaintRule::Bytes));
    table.add("cvta.to.const.u64", op!(|a: u64| a).taint(TaintRule::Bytes));
    table.add("cvta.local.u64", op!(|a: u64| a | Space::LOCAL_WINDOW).taint(TaintRule::Bytes));
    table.add("cvta.to.local.u64", op!(|a: u64| a & !Space::LOCAL_WINDOW).taint(TaintRule::Bytes));
    table.add("isspacep.global", op!(|a: u64| Space::of_generic(a) == Space::Global));
    table.add("isspacep.shared", op!(|a: u64| Space::of_generic(a) == Space::Shared));
    table.add("isspacep.shared::cta", op!(|a: u64| Space::of_generic(a) == Space::Shared));
    table.add("isspacep.shared::cluster", op!(|a: u64| Space::of_generic(a) == Space::Shared));
    table.add("isspacep.local", op!(|a: u64| Space::of_generic(a) == Space::Local));
    table.add("isspacep.const", Action::IsConstant);
}

/// Every pair of integer types. Reading extends by the source's sign. Writing cuts to the destination's width and extends by
/// its sign to the register, which may be wider (9.4.1).
fn integers(table: &mut Table) {
    table.group("Conversion (9.7.9.22)");
    macro_rules! pairs {
        ($to:ident $to_name:literal from $($from:ident $from_name:literal),+) => {
            $(table.add(concat!("cvt.", $to_name, ".", $from_name), op!(|a: $from| a as $to as i64).extends::<$to>());)+
        };
    }
    macro_rules! all {
        ($($to:ident $name:literal),+) => {$(
            pairs!($to $name from u8 "u8", i8 "s8", u16 "u16", i16 "s16", u32 "u32", i32 "s32", u64 "u64", i64 "s64");
        )+};
    }
    all!(u8 "u8", i8 "s8", u16 "u16", i16 "s16", u32 "u32", i32 "s32", u64 "u64", i64 "s64");
}

impl Form {
    /// An integer that is extended, or cut: what is above the narrower type depends on its sign.
    fn extends<To: Lane>(self) -> Self {
        let form = self.taint(|bytes| TaintRule::Unpack(0, bytes.min(To::BYTES)));
        let is_signed = (self.source.0, TypeId::of::<To>()) == (TypeId::of::<i32>(), TypeId::of::<i64>());
        if is_signed { form.check(ArithmeticCheck::Extend) } else { form }
    }
}

fn to_float(table: &mut Table) {
    macro_rules! exact_in_double {
        ($($from:ident $name:literal),+) => {$(
            table.add(concat!("cvt.rn.f64.", $name), op!(|a: $from| a as f64));
            table.add_ftz::<$from, f32>(concat!("cvt.rn.f32.", $name), op!(|a: $from| a as f32));
            table.add(concat!("cvt.rn.f16.", $name), op!(|a: $from| {
                narrow(f64::from(a), Format::F16, Rounding::NearestEven) as u16
            }));
            table.add(concat!("cvt.rn.bf16.", $name), op!(|a: $from| {
                narrow(f64::from(a), Format::BF16, Rounding::NearestEven) as u16
            }));
            directed!($from $name: "rz" Zero, "rm" Down, "rp" Up);
        )+};
    }
    macro_rules! directed {
        ($from:ident $name:literal: $($suffix:literal $mode:ident),+) => {$(
            table.add_ftz::<$from, f32>(concat!("cvt.", $suffix, ".f32.", $name), op!(|a: $from| {
                f32::from_bits(narrow(odd(a.into()), Format::F32, Rounding::$mode))
            }));
            table.add(concat!("cvt.", $suffix, ".f16.", $name), op!(|a: $from| {
                narrow(odd(a.into()), Format::F16, Rounding::$mode) as u16
            }));
            table.add(concat!("cvt.", $suffix, ".bf16.", $name), op!(|a: $from| {
                narrow(odd(a.into()), Format::BF16, Rounding::$mode) as u16
            }));
            table.add(concat!("cvt.", $suffix, ".f64.", $name), op!(|a: $from| double(a.into(), Rounding::$mode)));
        )+};
    }
    exact_in_double!(u8 "u8", i8 "s8", u16 "u16", i16 "s16", u32 "u32", i32 "s32");
    table.add("cvt.rn.f64.u64", op!(|a: u64| a as f64));
    table.add("cvt.rn.f64.s64", op!(|a: i64| a as f64));
    table.add_ftz::<u64, f32>("cvt.rn.f32.u64", op!(|a: u64| a as f32));
    table.add_ftz::<i64, f32>("cvt.rn.f32.s64", op!(|a: i64| a as f32));
    directed!(u64 "u64": "rz" Zero, "rm" Down, "rp" Up);
    directed!(i64 "s64": "rz" Zero, "rm" Down, "rp" Up);
    macro_rules! halves {
        ($($from:ident $name:literal),+) => {$(
            table.add(concat!("cvt.rn.f16.", $name), op!(|a: $from| {
                narrow(odd(a.into()), Format::F16, Rounding::NearestEven) as u16
            }));
            table.add(concat!("cvt.rn.bf16.", $name), op!(|a: $from| {
                narrow(odd(a.into()), Format::BF16, Rounding::NearestEven) as u16
            }));
        )+};
    }
    halves!(u64 "u64", i64 "s64");
}

/// An integer of 64 bits, rounded to odd: a second rounding to a narrower format is right in any mode.
fn odd(x: i128) -> f64 {
    let toward_zero = double(x, Rounding::Zero);
    if toward_zero as i128 == x { toward_zero } else { f64::from_bits(toward_zero.to_bits() | 1) }
}

/// An integer of 64 bits as a double.
fn double(x: i128, rounding: Rounding) -> f64 {
    let near = x as f64;
    let error = x - near as i128;
    match rounding {
        Rounding::Zero if error.signum() * x.signum() < 0 => f64::from_bits(near.to_bits() - 1),
        Rounding::Down if error < 0 => near.next_down(),
        Rounding::Up if error > 0 => near.next_up(),
        _ => near,
    }
}

/// Numbers out of range saturate. NaN becomes 0, but 1 << (width − 1) if source or destination has 64 bits (9.7.9.22).
fn to_integer(table: &mut Table) {
    macro_rules! rounding {
        ($($suffix:literal $round:ident),+) => {$(
            sources!($suffix $round f32 "f32", f64 "f64", F16 "f16", Bf16 "bf16");
        )+};
    }
    macro_rules! sources {
        ($suffix:literal $round:ident $($from:ident $name:literal),+) => {$(
            destinations!($suffix $round $from $name: u8 "u8", i8 "s8", u16 "u16", i16 "s16", u32 "u32", i32 "s32");
            destinations!($suffix $round $from $name: u64 "u64", i64 "s64");
        )+};
    }
    macro_rules! destinations {
        ($suffix:literal $round:ident $from:ident $name:literal: $($to:ident $to_name:literal),+) => {$(
            table.add_ftz::<$from, $to>(concat!("cvt.", $suffix, ".", $to_name, ".", $name), op!(|a: $from| {
                let wide = <$from as Real>::DOUBLE || $to::BITS == 64;
                let x = a.real();
                (if x.is_nan() && wide { 1 << ($to::BITS - 1) } else { x.$round() as $to }) as i64
            }).check(ArithmeticCheck::Convert {
                value: |bits| $from::of(bits).real(),
                least: $to::MIN as f64,
                beyond: $to::MAX as f64 + 1.0,
            }));
        )+};
    }
    rounding!("rzi" trunc, "rni" round_ties_even, "rmi" floor, "rpi" ceil);
}

/// A float as a double, exactly.
trait Real {
    const DOUBLE: bool = false;
    fn real(self) -> f64;
}

impl Real for f32 {
    fn real(self) -> f64 {
        self.into()
    }
}

impl Real for f64 {
    const DOUBLE: bool = true;
    fn real(self) -> f64 {
        self
    }
}

impl Real for F16 {
    fn real(self) -> f64 {
        self.0.into()
    }
}

impl Real for Bf16 {
    fn real(self) -> f64 {
        self.0.into()
    }
}

/// The number that the bits of a float of this type are; `None` for pairs.
pub fn value_of(of: TypeId) -> Option<fn(u64) -> f64> {
    macro_rules! values {
        ($($type:ident),+) => { $(if of == TypeId::of::<$type>() { return Some(|bits| $type::of(bits).real()); })+ };
    }
    values!(f32, f64, F16, Bf16);
    (of == TypeId::of::<Flushed>()).then_some(|bits| f32::of(bits).real())
}

fn between_floats(table: &mut Table) {
    table.add_ftz::<f32, f64>("cvt.f64.f32", op!(|a: f32| f64::from(a)));
    table.add_ftz::<F16, f32>("cvt.f32.f16", op!(|a: F16| a.0));
    table.add_ftz::<Bf16, f32>("cvt.f32.bf16", op!(|a: Bf16| a.0));
    table.add("cvt.f64.f16", op!(|a: F16| f64::from(a.0)));
    table.add("cvt.f64.bf16", op!(|a: Bf16| f64::from(a.0)));
    table.add_ftz::<f64, f32>("cvt.rn.f32.f64", op!(|a: f64| a as f32));
    to_half(table, "cvt.rn.f16.f32", op!(|a: f32| F16(a)));
    table.add_ftz::<f32, Bf16>("cvt.rn.bf16.f32", op!(|a: f32| Bf16(a)));
    table.add("cvt.rn.f16.f64", op!(|a: f64| narrow(a, Format::F16, Rounding::NearestEven) as u16));
    table.add("cvt.rn.bf16.f64", op!(|a: f64| narrow(a, Format::BF16, Rounding::NearestEven) as u16));
    macro_rules! directed {
        ($($suffix:literal $mode:ident),+) => {$(
            table.add_ftz::<f64, f32>(concat!("cvt.", $suffix, ".f32.f64"), op!(|a: f64| {
                f32::from_bits(narrow(a, Format::F32, Rounding::$mode))
            }));
            to_half(table, concat!("cvt.", $suffix, ".f16.f32"), op!(|a: f32| narrow(a.into(), Format::F16, Rounding::$mode) as u16));
            table.add_ftz::<f32, Bf16>(concat!("cvt.", $suffix, ".bf16.f32"), op!(|a: f32| narrow(a.into(), Format::BF16, Rounding::$mode) as u16));
            table.add(concat!("cvt.", $suffix, ".f16.f64"), op!(|a: f64| narrow(a, Format::F16, Rounding::$mode) as u16));
            table.add(concat!("cvt.", $suffix, ".bf16.f64"), op!(|a: f64| narrow(a, Format::BF16, Rounding::$mode) as u16));
        )+};
    }
    directed!("rz" Zero, "rm" Down, "rp" Up);
    macro_rules! to_integral {
        ($($suffix:literal $round:ident),+) => {$(
            table.add_ftz::<f32, f32>(concat!("cvt.", $suffix, ".f32.f32"), op!(|a: f32| a.$round()));
            table.add(concat!("cvt.", $suffix, ".f64.f64"), op!(|a: f64| a.$round()));
            table.add(concat!("cvt.", $suffix, ".f16.f16"), op!(|a: F16| F16(a.0.$round())));
            table.add(concat!("cvt.", $suffix, ".bf16.bf16"), op!(|a: Bf16| Bf16(a.0.$round())));
        )+};
    }
    to_integral!("rzi" trunc, "rni" round_ties_even, "rmi" floor, "rpi" ceil);
    // Saturation to [0, 1]; NaN and −0 become +0.
    table.add_ftz::<f32, f32>("cvt.sat.f32.f32", op!(|a: f32| if a > 0.0 { a.min(1.0) } else { 0.0 }));
    table.add("cvt.sat.f64.f64", op!(|a: f64| if a > 0.0 { a.min(1.0) } else { 0.0 }));
}

/// A conversion to a half. An H200 converts subnormal numbers as they are, even with `.ftz`.
fn to_half(table: &mut Table, name: &'static str, form: Form) {
    table.add(with_ftz(name), form);
    table.add(name, form);
}

/// Two numbers in one register. The first source is the upper one.
fn pairs(table: &mut Table) {
    macro_rules! pairs {
        ($($mode:literal $rounding:ident),+) => {$(
            pairs!(@ $mode, $rounding, "f16x2" F16, |x| x);
            pairs!(@ $mode, $rounding, "bf16x2" BF16, |x| x);
            pairs!(@ concat!($mode, ".relu"), $rounding, "f16x2" F16, |x| rectified(x));
            pairs!(@ concat!($mode, ".relu"), $rounding, "bf16x2" BF16, |x| rectified(x));
        )+};
        (@ $mode:expr, $rounding:ident, $to:literal $format:ident, |$x:ident| $value:expr) => {
            table.add_ftz::<f32, u32>(format!("cvt.{}.{}.f32", $mode, $to), op!(|a: f32, b: f32| {
                let narrowed = |x: f32| {
                    let $x = narrow(x.into(), Format::$format, Rounding::$rounding);
                    ($value) as u16
                };
                Two(narrowed(b), narrowed(a))
            }));
        };
    }
    pairs!("rn" NearestEven, "rz" Zero);
    macro_rules! eight_bits {
        ($($name:literal: $to:path, $from:path);+) => {$(
            table.add_ftz::<f32, u16>(
                concat!("cvt.rn.satfinite.", $name, ".f32"),
                op!(|a: f32, b: f32| u16::from_le_bytes([$to(b), $to(a)])),
            );
            table.add(
                concat!("cvt.rn.satfinite.", $name, ".f16x2"),
                op!(|a: Two<F16>| u16::from_le_bytes([$to(a.0.0), $to(a.1.0)])),
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
}

/// Single precision with ten bits of fraction, which tensor cores take.
fn reduced(table: &mut Table) {
    // An H200 keeps a quiet NaN here, and has the canonical one below.
    table.add_ftz::<f32, u32>(
        "cvt.rna.tf32.f32",
        op!(|a: f32| if a.is_nan() { (a.to_bits() | 0x0040_0000) & !0x1fff } else { tf32(a, 0x1000) }),
    );
    table.add_ftz::<f32, u32>("cvt.rn.tf32.f32", op!(|a: f32| tf32(a, 0xfff + (a.to_bits() >> 13 & 1))));
    table.add_ftz::<f32, u32>("cvt.rz.tf32.f32", op!(|a: f32| tf32(a, 0)));
}

/// `a` plus something below the last bit that is kept, cut. NaN is the canonical one, as far as it is kept.
fn tf32(a: f32, half: u32) -> u32 {
    (if a.is_nan() { 0x7fff_ffff } else { a.to_bits() + half }) & !0x1fff
}
