//! Conversion, moves and address spaces (PTX ISA 9.7.9: mov, cvt, cvta).

#![allow(clippy::cast_lossless, clippy::unnecessary_cast, reason = "one macro converts between all pairs of types")]

mod narrow;

use std::any::TypeId;

use super::{Action, ArithmeticCheck, Flushed, Form, Fusion, Space, TYPES, Table, Values, op, with_ftz};
use crate::float::{Format, Rounding, narrow};
use crate::lanes::{Bf16, F16, Lane, Lanes, WARP};

pub(super) fn forms(table: &mut Table) {
    moves(table);
    integers(table);
    to_float(table);
    to_integer(table);
    between_floats(table);
    narrow::forms(table);
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
            let form = Form::from(action).bits(0);
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
    // Global addresses are their own generic addresses; the other spaces have windows (see `isa/memory.rs`). Parameters have no
    // generic address.
    for (space, window) in [
        ("global", 0),
        ("const", 0),
        ("shared", Space::SHARED_WINDOW),
        ("shared::cta", Space::SHARED_WINDOW),
        ("shared::cluster", Space::SHARED_WINDOW),
        ("local", Space::LOCAL_WINDOW),
    ] {
        let [into, from] = match window {
            0 => [op!(|a: u64| a), op!(|a: u64| a)],
            Space::SHARED_WINDOW => [op!(|a: u64| a | Space::SHARED_WINDOW), op!(|a: u64| a & !Space::SHARED_WINDOW)],
            _ => [op!(|a: u64| a | Space::LOCAL_WINDOW), op!(|a: u64| a & !Space::LOCAL_WINDOW)],
        };
        table.add(format!("cvta.{space}.u64"), into.bits(0));
        table.add(format!("cvta.to.{space}.u64"), from.bits(0));
    }
    for word in ["isspacep.param", "isspacep.param::entry"] {
        table.add(word, op!(|_a: u64| false));
    }
    // A cluster has one block.
    for space in ["", ".shared::cluster"] {
        table.add(format!("mapa{space}.u32"), op!(|a: u32, _b: u32| a));
        table.add(format!("mapa{space}.u64"), op!(|a: u64, _b: u32| a));
        table.add(format!("getctarank{space}.u32"), op!(|_a: u32| 0u32));
        table.add(format!("getctarank{space}.u64"), op!(|_a: u64| 0u32));
    }
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
            $(
                table.add(concat!("cvt.", $to_name, ".", $from_name), op!(|a: $from| a as $to as i64).extends::<$to>());
                table.add(concat!("cvt.sat.", $to_name, ".", $from_name), op!(|a: $from| {
                    i128::from(a).clamp($to::MIN.into(), $to::MAX.into()) as $to as i64
                }).check(ArithmeticCheck::Bound));
            )+
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
        let form = self.bits(0);
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
                values: values::<$from>,
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
pub fn values_of(of: TypeId) -> Option<Values> {
    macro_rules! of_type {
        ($($type:ident),+) => { $(if of == TypeId::of::<$type>() { return Some(values::<$type>); })+ };
    }
    of_type!(f32, f64, F16, Bf16);
    (of == TypeId::of::<Flushed>()).then_some(values::<f32>)
}

fn values<T: Lane + Real>(bits: &Lanes) -> [f64; WARP] {
    let mut values = [0.0; WARP];
    for lane in 0..WARP {
        values[lane] = T::of(bits[lane]).real();
    }
    values
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
    table.add("cvt.sat.f16.f16", op!(|a: F16| F16(if a.0 > 0.0 { a.0.min(1.0) } else { 0.0 })));
    table.add("cvt.sat.bf16.bf16", op!(|a: Bf16| Bf16(if a.0 > 0.0 { a.0.min(1.0) } else { 0.0 })));
    table.add_ftz::<f32, f32>("cvt.f32.f32", op!(|a: f32| a));
    table.add("cvt.f64.f64", op!(|a: f64| a));
    table.add("cvt.f16.f16", op!(|a: F16| a));
    table.add("cvt.bf16.bf16", op!(|a: Bf16| a));
    macro_rules! between_halves {
        ($($suffix:literal $mode:ident),+) => {$(
            table.add(concat!("cvt.", $suffix, ".bf16.f16"), op!(|a: F16| narrow(a.0.into(), Format::BF16, Rounding::$mode) as u16));
            table.add(concat!("cvt.", $suffix, ".f16.bf16"), op!(|a: Bf16| narrow(a.0.into(), Format::F16, Rounding::$mode) as u16));
        )+};
    }
    between_halves!("rn" NearestEven, "rz" Zero, "rm" Down, "rp" Up);
}

/// A conversion to a half. An H200 converts subnormal numbers as they are, even with `.ftz`.
fn to_half(table: &mut Table, name: &'static str, form: Form) {
    table.add(with_ftz(name), form);
    table.add(name, form);
}
