//! Integer arithmetic, carry chains, logic, shifts and byte permutation (PTX ISA 9.7.1, 9.7.2, 9.7.8).

use super::{Action, Table, op};
use crate::lanes::{Lane, Lanes, WARP};

pub(super) fn forms(table: &mut Table) {
    arithmetic(table);
    carries(table);
    logic(table);
}

/// Adds one form per type: `each!(table, "min", [s32: i32, …], |a, b| a.min(b))`.
macro_rules! each {
    ($table:ident, $name:literal, [$($suffix:literal: $type:ty),+], |$a:ident| $body:expr) => {
        $($table.add(concat!($name, ".", $suffix), op!(|$a: $type| $body));)+
    };
    ($table:ident, $name:literal, [$($suffix:literal: $type:ty),+], |$a:ident, $b:ident| $body:expr) => {
        $($table.add(concat!($name, ".", $suffix), op!(|$a: $type, $b: $type| $body));)+
    };
    ($table:ident, $name:literal, [$($suffix:literal: $type:ty),+], |$a:ident, $b:ident, $c:ident| $body:expr) => {
        $($table.add(concat!($name, ".", $suffix), op!(|$a: $type, $b: $type, $c: $type| $body));)+
    };
}
pub(super) use each;

macro_rules! integers {
    ($table:ident, $name:literal, |$($arg:ident),+| $body:expr) => {
        each!($table, $name, ["u16": u16, "s16": i16, "u32": u32, "s32": i32, "u64": u64, "s64": i64], |$($arg),+| $body)
    };
}

fn arithmetic(table: &mut Table) {
    table.group("Integer arithmetic (9.7.1)");
    integers!(table, "add", |a, b| a.wrapping_add(b));
    integers!(table, "sub", |a, b| a.wrapping_sub(b));
    integers!(table, "mul.lo", |a, b| a.wrapping_mul(b));
    integers!(table, "mad.lo", |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    integers!(table, "min", |a, b| a.min(b));
    integers!(table, "max", |a, b| a.max(b));
    // Division by zero is undefined (9.7.1.10, 9.7.1.11). Here the quotient is all ones, and the remainder is the dividend.
    integers!(table, "div", |a, b| if b == 0 { !b } else { a.wrapping_div(b) });
    integers!(table, "rem", |a, b| if b == 0 { a } else { a.wrapping_rem(b) });
    each!(table, "neg", ["s16": i16, "s32": i32, "s64": i64], |a| a.wrapping_neg());
    each!(table, "abs", ["s16": i16, "s32": i32, "s64": i64], |a| a.wrapping_abs());

    table.add("mul.hi.u16", op!(|a: u16, b: u16| ((u32::from(a) * u32::from(b)) >> 16) as u16));
    table.add("mul.hi.s16", op!(|a: i16, b: i16| ((i32::from(a) * i32::from(b)) >> 16) as i16));
    table.add("mul.hi.u32", op!(|a: u32, b: u32| ((u64::from(a) * u64::from(b)) >> 32) as u32));
    table.add("mul.hi.s32", op!(|a: i32, b: i32| ((i64::from(a) * i64::from(b)) >> 32) as i32));
    table.add("mul.hi.u64", op!(|a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64));
    table.add("mul.hi.s64", op!(|a: i64, b: i64| ((i128::from(a) * i128::from(b)) >> 64) as i64));
    table.add("mul.wide.u16", op!(|a: u16, b: u16| u32::from(a) * u32::from(b)));
    table.add("mul.wide.s16", op!(|a: i16, b: i16| i32::from(a) * i32::from(b)));
    table.add("mul.wide.u32", op!(|a: u32, b: u32| u64::from(a) * u64::from(b)));
    table.add("mul.wide.s32", op!(|a: i32, b: i32| i64::from(a) * i64::from(b)));
    table.add("mad.wide.u16", op!(|a: u16, b: u16, c: u32| (u32::from(a) * u32::from(b)).wrapping_add(c)));
    table.add("mad.wide.s16", op!(|a: i16, b: i16, c: i32| (i32::from(a) * i32::from(b)).wrapping_add(c)));
    table.add("mad.wide.u32", op!(|a: u32, b: u32, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c)));
    table.add("mad.wide.s32", op!(|a: i32, b: i32, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c)));
    table.add(
        "dp4a.s32.s32",
        op!(|a: u32, b: u32, c: i32| dot(a, b, c, |x| i32::from(x as i8), |x| i32::from(x as i8))),
    );
    table.add("dp4a.s32.u32", op!(|a: u32, b: u32, c: i32| dot(a, b, c, |x| i32::from(x as i8), i32::from)));
    table.add("dp4a.u32.s32", op!(|a: u32, b: u32, c: i32| dot(a, b, c, i32::from, |x| i32::from(x as i8))));
    table.add("dp4a.u32.u32", op!(|a: u32, b: u32, c: i32| dot(a, b, c, i32::from, i32::from)));
}

/// The dot product of four bytes, added to `c`.
fn dot(a: u32, b: u32, c: i32, left: fn(u8) -> i32, right: fn(u8) -> i32) -> i32 {
    let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes()).map(|(a, b)| left(a) * right(b));
    products.fold(c, i32::wrapping_add)
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

/// The extended-precision instructions of one width. The flag is one bit per lane; `sub.cc` sets it on borrow.
macro_rules! carry_family {
    ($table:ident, $suffix:literal, $type:ty, $wide:ty) => {
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
            (difference, Some(borrow))
        }));
        $table.add(concat!("subc.", $suffix), carry!($type, |a, b, _c, cin| {
            (a.wrapping_sub(b).wrapping_sub(cin), None)
        }));
        $table.add(concat!("subc.cc.", $suffix), carry!($type, |a, b, _c, cin| {
            let (difference, first) = a.overflowing_sub(b);
            let (difference, second) = difference.overflowing_sub(cin);
            (difference, Some(first | second))
        }));
        carry_family!(@mad $table, $suffix, $type, $wide, "lo", |product: $wide| product as $type);
        carry_family!(@mad $table, $suffix, $type, $wide, "hi", |product: $wide| (product >> <$type>::BITS) as $type);
    };
    (@mad $table:ident, $suffix:literal, $type:ty, $wide:ty, $half:literal, $pick:expr) => {
        $table.add(concat!("mad.", $half, ".cc.", $suffix), carry!($type, |a, b, c, _in| {
            let (sum, over) = ($pick)(<$wide>::from(a) * <$wide>::from(b)).overflowing_add(c);
            (sum, Some(over))
        }));
        $table.add(concat!("madc.", $half, ".", $suffix), carry!($type, |a, b, c, cin| {
            (($pick)(<$wide>::from(a) * <$wide>::from(b)).wrapping_add(c).wrapping_add(cin), None)
        }));
        $table.add(concat!("madc.", $half, ".cc.", $suffix), carry!($type, |a, b, c, cin| {
            let (sum, first) = ($pick)(<$wide>::from(a) * <$wide>::from(b)).overflowing_add(c);
            let (sum, second) = sum.overflowing_add(cin);
            (sum, Some(first | second))
        }));
    };
}

fn carries(table: &mut Table) {
    table.group("Extended-precision arithmetic (9.7.2)");
    carry_family!(table, "u32", u32, u64);
    carry_family!(table, "u64", u64, u128);
}

macro_rules! bits {
    ($table:ident, $name:literal, |$($arg:ident),+| $body:expr) => {
        each!($table, $name, ["pred": bool, "b16": u16, "b32": u32, "b64": u64], |$($arg),+| $body)
    };
}

fn logic(table: &mut Table) {
    table.group("Logic and shift (9.7.8)");
    bits!(table, "and", |a, b| a & b);
    bits!(table, "or", |a, b| a | b);
    bits!(table, "xor", |a, b| a ^ b);
    bits!(table, "not", |a| !a);
    // Amounts beyond the width count as the width (9.7.8.7, 9.7.8.8).
    table.add("shl.b16", op!(|a: u16, b: u32| a.checked_shl(b).unwrap_or(0)));
    table.add("shl.b32", op!(|a: u32, b: u32| a.checked_shl(b).unwrap_or(0)));
    table.add("shl.b64", op!(|a: u64, b: u32| a.checked_shl(b).unwrap_or(0)));
    table.add("shr.u16", op!(|a: u16, b: u32| a.checked_shr(b).unwrap_or(0)));
    table.add("shr.u32", op!(|a: u32, b: u32| a.checked_shr(b).unwrap_or(0)));
    table.add("shr.u64", op!(|a: u64, b: u32| a.checked_shr(b).unwrap_or(0)));
    table.add("shr.b32", op!(|a: u32, b: u32| a.checked_shr(b).unwrap_or(0)));
    table.add("shr.b64", op!(|a: u64, b: u32| a.checked_shr(b).unwrap_or(0)));
    table.add("shr.s16", op!(|a: i16, b: u32| a >> b.min(15)));
    table.add("shr.s32", op!(|a: i32, b: u32| a >> b.min(31)));
    table.add("shr.s64", op!(|a: i64, b: u32| a >> b.min(63)));
    each!(table, "clz", ["b32": u32, "b64": u64], |a| a.leading_zeros());
    each!(table, "popc", ["b32": u32, "b64": u64], |a| a.count_ones());
    each!(table, "brev", ["b32": u32, "b64": u64], |a| a.reverse_bits());
    table.add("bfi.b32", op!(|a: u32, b: u32, c: u32, e: u32| insert(a.into(), b.into(), c, e, 32) as u32));
    table.add("bfi.b64", op!(|a: u64, b: u64, c: u32, e: u32| insert(a, b, c, e, 64)));
    table.add("bfe.u32", op!(|a: u32, b: u32, c: u32| extract(i64::from(a), b, c, 32, false) as u32));
    table.add("bfe.s32", op!(|a: i32, b: u32, c: u32| extract(i64::from(a), b, c, 32, true) as u32));
    table.add("lop3.b32", op!(|a: u32, b: u32, c: u32, e: u8| logic3(a, b, c, e)));
    table.add(
        "shf.l.wrap.b32",
        op!(|a: u32, b: u32, c: u32| ((u64::from(b) << 32 | u64::from(a)) << (c & 31) >> 32) as u32),
    );
    table.add("shf.r.wrap.b32", op!(|a: u32, b: u32, c: u32| ((u64::from(b) << 32 | u64::from(a)) >> (c & 31)) as u32));
    table.add("prmt.b32", op!(|a: u32, b: u32, c: u32| permute(u64::from(b) << 32 | u64::from(a), c)));
}

/// Four bytes of `source`, chosen by four nibbles. If a nibble's top bit is set, the byte's sign is used instead.
fn permute(source: u64, control: u32) -> u32 {
    let byte = |place: u32| {
        let control = control >> (4 * place) & 15;
        let byte = (source >> (8 * (control & 7))) as u8;
        let byte = if control & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 };
        u32::from(byte) << (8 * place)
    };
    (0..4).map(byte).sum()
}

/// The low `length` bits of `a` put into `b` at bit `at`; both amounts are bytes of their registers (9.7.1.17).
fn insert(a: u64, b: u64, at: u32, length: u32, width: u32) -> u64 {
    let (at, length) = (at & 0xff, (length & 0xff).min(width));
    let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    let mask = ones.checked_shl(at).unwrap_or(0);
    b & !mask | a.checked_shl(at).unwrap_or(0) & mask
}

/// `length` bits of `a` from bit `at`, extended by the last of them where `signed` (9.7.1.16).
fn extract(a: i64, at: u32, length: u32, width: u32, signed: bool) -> i64 {
    let (at, length) = (at & 0xff, length & 0xff);
    let sign_at = (at + length).saturating_sub(1).min(width - 1);
    let sign = signed && length > 0 && a >> sign_at & 1 != 0;
    (0..width)
        .map(|bit| {
            let set = if bit < length && at + bit < width { a >> (at + bit) & 1 != 0 } else { sign };
            i64::from(set) << bit
        })
        .sum()
}

/// Any function of three bits, by its table of eight (9.7.8.6).
fn logic3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    let pick = |bits: u32, set: bool| if set { bits } else { !bits };
    (0..8u8)
        .filter(|row| table >> row & 1 != 0)
        .map(|row| pick(a, row & 4 != 0) & pick(b, row & 2 != 0) & pick(c, row & 1 != 0))
        .fold(0, |all, one| all | one)
}
