//! Integer arithmetic and carry chains (PTX ISA 9.7.1, 9.7.2).

use super::{Action, ArithmeticCheck, Form, Table, op};
use crate::lanes::{Lane, Lanes, Two, WARP};

pub(super) fn forms(table: &mut Table) {
    arithmetic(table);
    narrow(table);
    pairs(table);
    carries(table);
}

/// Adds one form per type: `each!(table, "min", ["s32": i32, …], |a, b| a.min(b))`. What follows, such as `.check(…)`, is for each.
macro_rules! each {
    ($table:ident, $name:literal, [$($suffix:literal: $type:ty),+], |$($arg:ident),+| $body:expr $(, $($with:tt)+)?) => {
        each!(@ $table, $name, [$($suffix: $type),+], |$($arg),+| $body, [$($($with)+)?]);
    };
    (@ $table:ident, $name:literal, [$($suffix:literal: $type:ty),+], |$a:ident| $body:expr, $with:tt) => {
        $(each!(@add $table, concat!($name, ".", $suffix), op!(|$a: $type| $body), $with);)+
    };
    (@ $table:ident, $name:literal, [$($suffix:literal: $type:ty),+], |$a:ident, $b:ident| $body:expr, $with:tt) => {
        $(each!(@add $table, concat!($name, ".", $suffix), op!(|$a: $type, $b: $type| $body), $with);)+
    };
    (@ $table:ident, $name:literal, [$($suffix:literal: $type:ty),+], |$a:ident, $b:ident, $c:ident| $body:expr, $with:tt) => {
        $(each!(@add $table, concat!($name, ".", $suffix), op!(|$a: $type, $b: $type, $c: $type| $body), $with);)+
    };
    (@add $table:ident, $name:expr, $form:expr, [$($with:tt)*]) => { $table.add($name, $form $($with)*) };
}
pub(super) use each;

macro_rules! integers {
    ($table:ident, $name:literal, |$($arg:ident),+| $body:expr $(, $($with:tt)+)?) => {
        each!(
            $table, $name, ["u16": u16, "s16": i16, "u32": u32, "s32": i32, "u64": u64, "s64": i64],
            |$($arg),+| $body $(, $($with)+)?
        )
    };
}

fn arithmetic(table: &mut Table) {
    table.group("Integer arithmetic (9.7.1)");
    integers!(table, "add", |a, b| a.wrapping_add(b), .upwards().check_32_bits(ArithmeticCheck::Sum));
    integers!(table, "sub", |a, b| a.wrapping_sub(b), .upwards());
    integers!(table, "mul.lo", |a, b| a.wrapping_mul(b), .upwards().check_32_bits(ArithmeticCheck::Product));
    integers!(table, "mad.lo", |a, b, c| a.wrapping_mul(b).wrapping_add(c), .upwards().check_32_bits(ArithmeticCheck::Product));
    integers!(table, "min", |a, b| a.min(b), .check(ArithmeticCheck::Bound));
    integers!(table, "max", |a, b| a.max(b), .check(ArithmeticCheck::Bound));
    // Division by zero is left to the machine (9.7.1.10, 9.7.1.11). An H200 makes quotient and remainder all ones.
    integers!(table, "div", |a, b| if b == 0 { !b } else { a.wrapping_div(b) }, .divides());
    integers!(table, "rem", |a, b| if b == 0 { !b } else { a.wrapping_rem(b) }, .divides());
    each!(table, "neg", ["s16": i16, "s32": i32, "s64": i64], |a| a.wrapping_neg(), .upwards());
    each!(table, "abs", ["s16": i16, "s32": i32, "s64": i64], |a| a.wrapping_abs());
    integers!(table, "sad", |a, b, c| a.max(b).wrapping_sub(a.min(b)).wrapping_add(c));
    each!(table, "add.sat", ["s32": i32], |a, b| a.saturating_add(b));
    each!(table, "sub.sat", ["s32": i32], |a, b| a.saturating_sub(b));
    each!(table, "min.relu", ["s32": i32], |a, b| a.min(b).max(0), .check(ArithmeticCheck::Bound));
    each!(table, "max.relu", ["s32": i32], |a, b| a.max(b).max(0), .check(ArithmeticCheck::Bound));

    macro_rules! high {
        ($($suffix:literal: $type:ident as $wide:ident),+) => {$(
            high!("mul.hi.", $suffix, |a: $type, b: $type| (($wide::from(a) * $wide::from(b)) >> $type::BITS) as $type);
            high!("mad.hi.", $suffix, |a: $type, b: $type, c: $type| {
                c.wrapping_add((($wide::from(a) * $wide::from(b)) >> $type::BITS) as $type)
            });
        )+};
        ($name:literal, $suffix:literal, $($rest:tt)+) => { table.add(concat!($name, $suffix), op!($($rest)+)) };
    }
    high!("u16": u16 as u32, "s16": i16 as i32, "u32": u32 as u64, "s32": i32 as i64, "u64": u64 as u128, "s64": i64 as i128);
    table.add(
        "mad.hi.sat.s32",
        op!(|a: i32, b: i32, c: i32| c.saturating_add(((i64::from(a) * i64::from(b)) >> 32) as i32)),
    );
    table.add("mul.wide.u16", op!(|a: u16, b: u16| u32::from(a) * u32::from(b)).upwards());
    table.add("mul.wide.s16", op!(|a: i16, b: i16| i32::from(a) * i32::from(b)).upwards());
    table.add("mul.wide.u32", op!(|a: u32, b: u32| u64::from(a) * u64::from(b)).upwards());
    table.add(
        "mul.wide.s32",
        op!(|a: i32, b: i32| i64::from(a) * i64::from(b)).upwards().check(ArithmeticCheck::Extend),
    );
    table.add("mad.wide.u16", op!(|a: u16, b: u16, c: u32| (u32::from(a) * u32::from(b)).wrapping_add(c)).upwards());
    table.add("mad.wide.s16", op!(|a: i16, b: i16, c: i32| (i32::from(a) * i32::from(b)).wrapping_add(c)).upwards());
    table.add("mad.wide.u32", op!(|a: u32, b: u32, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c)).upwards());
    table.add(
        "mad.wide.s32",
        op!(|a: i32, b: i32, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c))
            .upwards()
            .check(ArithmeticCheck::Extend),
    );
}

/// Products of numbers narrower than their register.
fn narrow(table: &mut Table) {
    macro_rules! signs {
        ($($name:literal $a:ident $b:ident),+) => {$(
            table.add(concat!("dp4a.", $name), op!(|a: u32, b: u32, c: i32| {
                dot(a.to_le_bytes().map(|a| i32::from(a as $a)), b.to_le_bytes().map(|b| i32::from(b as $b)), c)
            }));
            table.add(concat!("dp2a.lo.", $name), op!(|a: u32, b: u32, c: i32| {
                let [first, second, ..] = b.to_le_bytes().map(|b| i32::from(b as $b));
                dot(halves(a).map(|a| i32::from(a as signs!(@ $a))), [first, second], c)
            }));
            table.add(concat!("dp2a.hi.", $name), op!(|a: u32, b: u32, c: i32| {
                let [.., first, second] = b.to_le_bytes().map(|b| i32::from(b as $b));
                dot(halves(a).map(|a| i32::from(a as signs!(@ $a))), [first, second], c)
            }));
        )+};
        (@ u8) => { u16 };
        (@ i8) => { i16 };
    }
    signs!("s32.s32" i8 i8, "s32.u32" i8 u8, "u32.s32" u8 i8, "u32.u32" u8 u8);
    // 24 bits of each factor; `lo` has the low 32 bits of the product's 48, and `hi` those above the low 16 (9.7.1.5, 9.7.1.6).
    macro_rules! low_24 {
        ($($suffix:literal: $type:ty as $wide:ty),+) => {$(
            each!(table, "mul24.lo", [$suffix: $type], |a, b| (a << 8 >> 8).wrapping_mul(b << 8 >> 8));
            each!(table, "mad24.lo", [$suffix: $type], |a, b, c| (a << 8 >> 8).wrapping_mul(b << 8 >> 8).wrapping_add(c));
            each!(table, "mul24.hi", [$suffix: $type], |a, b| ((<$wide>::from(a << 8 >> 8) * <$wide>::from(b << 8 >> 8)) >> 16) as $type);
            each!(table, "mad24.hi", [$suffix: $type], |a, b, c| {
                c.wrapping_add(((<$wide>::from(a << 8 >> 8) * <$wide>::from(b << 8 >> 8)) >> 16) as $type)
            });
        )+};
    }
    low_24!("u32": u32 as u64, "s32": i32 as i64);
    each!(table, "mad24.hi.sat", ["s32": i32], |a, b, c| {
        c.saturating_add(((i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)) >> 16) as i32)
    });
}

/// The dot product, added to `c`.
fn dot<const N: usize>(a: [i32; N], b: [i32; N], c: i32) -> i32 {
    a.into_iter().zip(b).map(|(a, b)| a.wrapping_mul(b)).fold(c, i32::wrapping_add)
}

fn halves(x: u32) -> [u16; 2] {
    [x as u16, (x >> 16) as u16]
}

/// Two numbers of 16 bits in one register.
fn pairs(table: &mut Table) {
    macro_rules! pairs {
        ($($name:literal $type:ty: |$a:ident, $b:ident| $body:expr, $check:ident);+ $(;)?) => {$(
            table.add($name, op!(|x: Two<$type>, y: Two<$type>| {
                let compute = |$a: $type, $b: $type| $body;
                Two(compute(x.0, y.0), compute(x.1, y.1))
            }).check(ArithmeticCheck::$check));
        )+};
    }
    pairs! {
        "add.u16x2" u16: |a, b| a.wrapping_add(b), Nothing;
        "add.s16x2" i16: |a, b| a.wrapping_add(b), Nothing;
        "min.u16x2" u16: |a, b| a.min(b), Bound;
        "min.s16x2" i16: |a, b| a.min(b), Bound;
        "max.u16x2" u16: |a, b| a.max(b), Bound;
        "max.s16x2" i16: |a, b| a.max(b), Bound;
        "min.relu.s16x2" i16: |a, b| a.min(b).max(0), Bound;
        "max.relu.s16x2" i16: |a, b| a.max(b).max(0), Bound;
    }
}

/// A carry form: `|a, b, c, carry_in| (result, carry_out)` on 128-bit numbers.
macro_rules! carry {
    ($type:ty, |$a:ident, $b:ident, $c:ident, $in:ident| $body:expr) => {{
        fn run(a: &Lanes, b: &Lanes, c: &Lanes, carry: &Lanes) -> (Lanes, Lanes) {
            let (mut out, mut carries) = ([0; WARP], *carry);
            for lane in 0..WARP {
                let ($a, $b, $c) = (<$type>::of(a[lane]), <$type>::of(b[lane]), <$type>::of(c[lane]));
                let $in = carry[lane] as $type;
                let (result, carry): ($type, Option<bool>) = $body;
                out[lane] = Lane::bits(result);
                carries[lane] = carry.map_or(carries[lane], u64::from);
            }
            (out, carries)
        }
        Action::Carry(run)
    }};
}

/// The extended-precision instructions of one width. The flag is one bit per lane. The ISA says that a subtraction writes and reads a
/// borrow (9.7.2.3, 9.7.2.4). On an H200 the flag is the inverse, the carry of `a + !b + 1`, which shows if sums and differences are
/// mixed.
macro_rules! carry_family {
    ($table:ident, $suffix:literal, $type:ty as $sign:ty, $wide:ty) => {
        $table.add(concat!("add.cc.", $suffix), carry!($type, |a, b, _c, _in| {
            let (sum, over) = a.overflowing_add(b);
            (sum, Some(over))
        }));
        $table.add(concat!("addc.", $suffix), carry!($type, |a, b, _c, cin| (a.wrapping_add(b).wrapping_add(cin), None)));
        $table.add(concat!("addc.cc.", $suffix), carry!($type, |a, b, _c, cin| {
            let (sum, first) = a.overflowing_add(b);
            let (sum, second) = sum.overflowing_add(cin);
            (sum, Some(first | second))
        }));
        $table.add(concat!("sub.cc.", $suffix), carry!($type, |a, b, _c, _in| {
            let (difference, borrow) = a.overflowing_sub(b);
            (difference, Some(!borrow))
        }));
        $table.add(concat!("subc.", $suffix), carry!($type, |a, b, _c, cin| {
            (a.wrapping_sub(b).wrapping_sub(1 - cin), None)
        }));
        $table.add(concat!("subc.cc.", $suffix), carry!($type, |a, b, _c, cin| {
            let (difference, first) = a.overflowing_sub(b);
            let (difference, second) = difference.overflowing_sub(1 - cin);
            (difference, Some(!(first | second)))
        }));
        carry_family!(@mad $table, $suffix, $type as $sign, $wide, "lo", |product: $wide| product as $type);
        carry_family!(@mad $table, $suffix, $type as $sign, $wide, "hi", |product: $wide| (product >> <$type>::BITS) as $type);
    };
    (@mad $table:ident, $suffix:literal, $type:ty as $sign:ty, $wide:ty, $half:literal, $pick:expr) => {
        $table.add(concat!("mad.", $half, ".cc.", $suffix), carry!($type, |a, b, c, _in| {
            let (sum, over) = ($pick)((a as $sign as $wide).wrapping_mul(b as $sign as $wide)).overflowing_add(c);
            (sum, Some(over))
        }));
        $table.add(concat!("madc.", $half, ".", $suffix), carry!($type, |a, b, c, cin| {
            (($pick)((a as $sign as $wide).wrapping_mul(b as $sign as $wide)).wrapping_add(c).wrapping_add(cin), None)
        }));
        $table.add(concat!("madc.", $half, ".cc.", $suffix), carry!($type, |a, b, c, cin| {
            let (sum, first) = ($pick)((a as $sign as $wide).wrapping_mul(b as $sign as $wide)).overflowing_add(c);
            let (sum, second) = sum.overflowing_add(cin);
            (sum, Some(first | second))
        }));
    };
}

fn carries(table: &mut Table) {
    table.group("Extended-precision arithmetic (9.7.2)");
    // The sign matters to the upper half of a product only.
    carry_family!(table, "u32", u32 as u32, u64);
    carry_family!(table, "s32", u32 as i32, u64);
    carry_family!(table, "u64", u64 as u64, u128);
    carry_family!(table, "s64", u64 as i64, u128);
}
