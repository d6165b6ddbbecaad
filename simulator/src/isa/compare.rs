//! Comparison and selection (PTX ISA 9.7.6, 9.7.7).

use super::{Action, Table, op};
use crate::lanes::{Bf16, F16, Lane, Lanes, WARP};

/// Adds `setp` and `set` of one comparison for one type.
macro_rules! comparison {
    ($table:ident, $name:literal, $suffix:literal, $type:ty, |$a:ident, $b:ident| $test:expr) => {
        $table.add(concat!("setp.", $name, ".", $suffix), op!(|$a: $type, $b: $type| $test));
        $table.add(
            concat!("set.", $name, ".u32.", $suffix),
            op!(|$a: $type, $b: $type| if $test { u32::MAX } else { 0 }),
        );
        $table.add(
            concat!("set.", $name, ".s32.", $suffix),
            op!(|$a: $type, $b: $type| if $test { u32::MAX } else { 0 }),
        );
        $table
            .add(concat!("set.", $name, ".f32.", $suffix), op!(|$a: $type, $b: $type| if $test { 1f32 } else { 0.0 }));
        $table.add(
            concat!("set.", $name, ".f16.", $suffix),
            op!(|$a: $type, $b: $type| F16(if $test { 1.0 } else { 0.0 })),
        );
        $table.add(
            concat!("set.", $name, ".bf16.", $suffix),
            op!(|$a: $type, $b: $type| Bf16(if $test { 1.0 } else { 0.0 })),
        );
    };
}

macro_rules! ordered {
    ($table:ident, [$($suffix:literal: $type:ty),+], |$x:ident| $value:expr) => {$(
        comparison!($table, "eq", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a) == f(b) });
        comparison!($table, "lt", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a) < f(b) });
        comparison!($table, "le", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a) <= f(b) });
        comparison!($table, "gt", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a) > f(b) });
        comparison!($table, "ge", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a) >= f(b) });
    )+};
}

/// The comparisons that only floats have: `ne` is ordered, and the `u` forms hold if either operand is NaN.
macro_rules! floats {
    ($table:ident, [$($suffix:literal: $type:ty),+], |$x:ident| $value:expr) => {$(
        ordered!($table, [$suffix: $type], |$x| $value);
        comparison!($table, "ne", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a) < f(b) || f(a) > f(b) });
        comparison!($table, "equ", $suffix, $type, |a, b| { let f = |$x: $type| $value; !(f(a) < f(b) || f(a) > f(b)) });
        comparison!($table, "neu", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a) != f(b) });
        comparison!($table, "ltu", $suffix, $type, |a, b| { let f = |$x: $type| $value; !(f(a) >= f(b)) });
        comparison!($table, "leu", $suffix, $type, |a, b| { let f = |$x: $type| $value; !(f(a) > f(b)) });
        comparison!($table, "gtu", $suffix, $type, |a, b| { let f = |$x: $type| $value; !(f(a) <= f(b)) });
        comparison!($table, "geu", $suffix, $type, |a, b| { let f = |$x: $type| $value; !(f(a) < f(b)) });
        comparison!($table, "num", $suffix, $type, |a, b| { let f = |$x: $type| $value; !f(a).is_nan() && !f(b).is_nan() });
        comparison!($table, "nan", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a).is_nan() || f(b).is_nan() });
    )+};
}

macro_rules! unequal {
    ($table:ident, [$($suffix:literal: $type:ty),+]) => {
        $(comparison!($table, "ne", $suffix, $type, |a, b| a != b);)+
    };
}

/// The unsigned forms by their other names, and the bit types, which can only be compared for equality.
macro_rules! unsigned {
    ($table:ident, [$($suffix:literal: $type:ty),+]) => {$(
        comparison!($table, "lo", $suffix, $type, |a, b| a < b);
        comparison!($table, "ls", $suffix, $type, |a, b| a <= b);
        comparison!($table, "hi", $suffix, $type, |a, b| a > b);
        comparison!($table, "hs", $suffix, $type, |a, b| a >= b);
    )+};
}

#[allow(clippy::neg_cmp_op_on_partial_ord, reason = "an unordered comparison is the negation of an ordered one")]
pub(super) fn forms(table: &mut Table) {
    table.group("Comparison (9.7.6)");
    ordered!(table, ["u16": u16, "s16": i16, "u32": u32, "s32": i32, "u64": u64, "s64": i64], |x| x);
    unequal!(table, ["u16": u16, "s16": i16, "u32": u32, "s32": i32, "u64": u64, "s64": i64]);
    unequal!(table, ["b16": u16, "b32": u32, "b64": u64]);
    unsigned!(table, ["u16": u16, "u32": u32, "u64": u64]);
    comparison!(table, "eq", "b16", u16, |a, b| a == b);
    comparison!(table, "eq", "b32", u32, |a, b| a == b);
    comparison!(table, "eq", "b64", u64, |a, b| a == b);
    floats!(table, ["f32": f32, "f64": f64], |x| x);
    floats!(table, ["f16": F16, "bf16": Bf16], |x| x.0);

    table.group("Selection (9.7.6.3)");
    for suffix in ["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"] {
        table.add(format!("selp.{suffix}"), op!(|a: u64, b: u64, choice: bool| if choice { a } else { b }));
    }
}
