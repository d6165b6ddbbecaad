//! Comparison and selection (PTX ISA 9.7.6, 9.7.7).

use super::{Action, Form, Results, TYPES, Table, TaintRule, op};
use crate::float::flush;
use crate::lanes::{Bf16, F16, Lane, Lanes, Two, WARP};

/// Adds `setp` and `set` of one comparison for one type.
macro_rules! comparison {
    ($table:ident, $name:literal, $suffix:literal, $type:ty, |$a:ident, $b:ident| $test:expr) => {
        $table.add_ftz::<$type, bool>(
            concat!("setp.", $name, ".", $suffix),
            op!(|$a: $type, $b: $type| $test).equality($name, $suffix).results(Results::Comparison { test: $name, of: $suffix }),
        );
        comparison!(@set $table, $name, "u32", $suffix, $type, |$a, $b| if $test { u32::MAX } else { 0 });
        comparison!(@set $table, $name, "s32", $suffix, $type, |$a, $b| if $test { u32::MAX } else { 0 });
        comparison!(@set $table, $name, "f32", $suffix, $type, |$a, $b| if $test { 1f32 } else { 0.0 });
        comparison!(@set $table, $name, "f16", $suffix, $type, |$a, $b| F16(if $test { 1.0 } else { 0.0 }));
        comparison!(@set $table, $name, "bf16", $suffix, $type, |$a, $b| Bf16(if $test { 1.0 } else { 0.0 }));
    };
    // No result is subnormal.
    (@set $table:ident, $name:literal, $to:literal, $of:literal, $type:ty, |$a:ident, $b:ident| $value:expr) => {
        $table.add_ftz::<$type, bool>(concat!("set.", $name, ".", $to, ".", $of), op!(|$a: $type, $b: $type| $value));
    };
}

impl Form {
    /// A comparison, which one bit may decide if it is `eq` or `ne` of integers.
    fn equality(self, test: &str, of: &str) -> Self {
        let is_decided_by_a_bit = matches!(test, "eq" | "ne") && !of.contains('f');
        if is_decided_by_a_bit { self.taint(TaintRule::Equality(self.source.1)) } else { self }
    }
}

/// Adds `set` of one comparison for a pair of halves. As an integer, each half of the result is all ones or zero.
macro_rules! packed {
    ($table:ident, $name:literal, $suffix:literal, $type:ty, |$a:ident, $b:ident| $test:expr) => {
        packed!(@ $table, concat!("set.", $name, ".", $suffix, ".", $suffix), $type, |$a, $b| <$type>::from(if $test { 1.0 } else { 0.0 }));
        for kind in ["u32", "s32"] {
            let form = format!(concat!("set.", $name, ".{}.", $suffix), kind);
            packed!(@ $table, form, $type, |$a, $b| if $test { u16::MAX } else { 0 });
        }
    };
    (@ $table:ident, $form:expr, $type:ty, |$a:ident, $b:ident| $value:expr) => {
        $table.add($form, op!(|x: Two<$type>, y: Two<$type>| {
            let compute = |$a: $type, $b: $type| $value;
            Two(compute(x.0, y.0), compute(x.1, y.1))
        }));
    };
}

macro_rules! ordered {
    ($kind:ident, $table:ident, [$($suffix:literal: $type:ty),+], |$x:ident| $value:expr) => {$(
        $kind!($table, "eq", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a) == f(b) });
        $kind!($table, "lt", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a) < f(b) });
        $kind!($table, "le", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a) <= f(b) });
        $kind!($table, "gt", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a) > f(b) });
        $kind!($table, "ge", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a) >= f(b) });
    )+};
}

/// The comparisons that only floats have: `ne` is ordered, and the `u` forms hold if either operand is NaN.
macro_rules! floats {
    ($kind:ident, $table:ident, [$($suffix:literal: $type:ty),+], |$x:ident| $value:expr) => {$(
        ordered!($kind, $table, [$suffix: $type], |$x| $value);
        $kind!($table, "ne", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a) < f(b) || f(a) > f(b) });
        $kind!($table, "equ", $suffix, $type, |a, b| { let f = |$x: $type| $value; !(f(a) < f(b) || f(a) > f(b)) });
        $kind!($table, "neu", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a) != f(b) });
        $kind!($table, "ltu", $suffix, $type, |a, b| { let f = |$x: $type| $value; !(f(a) >= f(b)) });
        $kind!($table, "leu", $suffix, $type, |a, b| { let f = |$x: $type| $value; !(f(a) > f(b)) });
        $kind!($table, "gtu", $suffix, $type, |a, b| { let f = |$x: $type| $value; !(f(a) <= f(b)) });
        $kind!($table, "geu", $suffix, $type, |a, b| { let f = |$x: $type| $value; !(f(a) < f(b)) });
        $kind!($table, "num", $suffix, $type, |a, b| { let f = |$x: $type| $value; !f(a).is_nan() && !f(b).is_nan() });
        $kind!($table, "nan", $suffix, $type, |a, b| { let f = |$x: $type| $value; f(a).is_nan() || f(b).is_nan() });
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
    ordered!(comparison, table, ["u16": u16, "s16": i16, "u32": u32, "s32": i32, "u64": u64, "s64": i64], |x| x);
    unequal!(table, ["u16": u16, "s16": i16, "u32": u32, "s32": i32, "u64": u64, "s64": i64]);
    unequal!(table, ["b16": u16, "b32": u32, "b64": u64]);
    unsigned!(table, ["u16": u16, "u32": u32, "u64": u64]);
    comparison!(table, "eq", "b16", u16, |a, b| a == b);
    comparison!(table, "eq", "b32", u32, |a, b| a == b);
    comparison!(table, "eq", "b64", u64, |a, b| a == b);
    floats!(comparison, table, ["f32": f32, "f64": f64], |x| x);
    floats!(comparison, table, ["f16": F16, "bf16": Bf16], |x| x.0);
    floats!(packed, table, ["f16x2": F16, "bf16x2": Bf16], |x| x.0);

    table.group("Selection (9.7.6.3)");
    for suffix in TYPES.iter().flat_map(|(_, types)| types.iter()) {
        let choose = op!(|a: u64, b: u64, choice: bool| if choice { a } else { b });
        table.add(format!("selp.{suffix}"), choose.taint(TaintRule::Choose));
        table.add(format!("slct.{suffix}.s32"), op!(|a: u64, b: u64, c: i32| if c >= 0 { a } else { b }));
        // A subnormal third operand is zero with `.ftz`, and of NaN the second is taken.
        table.add(format!("slct.{suffix}.f32"), op!(|a: u64, b: u64, c: f32| if c >= 0.0 { a } else { b }));
        table.add(format!("slct.ftz.{suffix}.f32"), op!(|a: u64, b: u64, c: f32| if flush(c) >= 0.0 { a } else { b }));
    }
}
