//! Logic, shifts, bit fields, searches for bits and byte permutation (PTX ISA 9.7.1.13 to 9.7.1.21, 9.7.8).

use super::integer::each;
use super::{Action, ArithmeticCheck, Form, Table, op};
use crate::lanes::{Lane, Lanes, WARP};

macro_rules! bits {
    ($table:ident, $name:literal, |$($arg:ident),+| $body:expr, $($with:tt)+) => {
        each!($table, $name, ["pred": bool, "b16": u16, "b32": u32, "b64": u64], |$($arg),+| $body, $($with)+)
    };
}

pub(super) fn forms(table: &mut Table) {
    table.group("Logic and shift (9.7.8)");
    bits!(table, "and", |a, b| a & b, .bits(0).check(ArithmeticCheck::Bound).combines());
    bits!(table, "or", |a, b| a | b, .bits(0).combines());
    bits!(table, "xor", |a, b| a ^ b, .bits(0));
    bits!(table, "not", |a| !a, .bits(0).combines());
    each!(table, "cnot", ["b16": u16, "b32": u32, "b64": u64], |a| u64::from(a == 0));
    table.add("lop3.b32", op!(|a: u32, b: u32, c: u32, e: u8| logic3(a, b, c, e)).bits(0b1000));
    for (name, combine) in [("or", "or.pred"), ("and", "and.pred")] {
        table.add(format!("lop3.{name}.b32"), Action::Logic3(combine));
    }
    shifts(table);
    fields(table);
    searches(table);
    permutations(table);
}

/// Amounts beyond the width count as the width (9.7.8.7, 9.7.8.8).
fn shifts(table: &mut Table) {
    macro_rules! by {
        ("shl", [$($suffix:literal: $type:ty),+], |$a:ident, $b:ident| $body:expr) => {
            $(table.add(
                concat!("shl.", $suffix),
                op!(|$a: $type, $b: u32| $body).bits(0b10).check_32_bits(ArithmeticCheck::Shift),
            );)+
        };
        ("shr", [$($suffix:literal: $type:ty),+], |$a:ident, $b:ident| $body:expr) => {
            $(table.add(
                concat!("shr.", $suffix),
                op!(|$a: $type, $b: u32| $body).bits(0b10).check(ArithmeticCheck::Bound),
            );)+
        };
    }
    by!("shl", ["b16": u16, "b32": u32, "b64": u64], |a, b| a.checked_shl(b).unwrap_or(0));
    by!("shr", ["b16": u16, "b32": u32, "b64": u64], |a, b| a.checked_shr(b).unwrap_or(0));
    by!("shr", ["u16": u16, "u32": u32, "u64": u64], |a, b| a.checked_shr(b).unwrap_or(0));
    by!("shr", ["s16": i16], |a, b| a >> b.min(15));
    by!("shr", ["s32": i32], |a, b| a >> b.min(31));
    by!("shr", ["s64": i64], |a, b| a >> b.min(63));
    // The 32 bits of a shifted pair.
    table.add("shf.l.wrap.b32", op!(|a: u32, b: u32, c: u32| (pair(a, b) << (c & 31) >> 32) as u32).bits(0b100));
    table.add("shf.r.wrap.b32", op!(|a: u32, b: u32, c: u32| (pair(a, b) >> (c & 31)) as u32).bits(0b100));
    table.add("shf.l.clamp.b32", op!(|a: u32, b: u32, c: u32| (pair(a, b) << c.min(32) >> 32) as u32).bits(0b100));
    table.add("shf.r.clamp.b32", op!(|a: u32, b: u32, c: u32| (pair(a, b) >> c.min(32)) as u32).bits(0b100));
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn fields(table: &mut Table) {
    table.group("Bit fields (9.7.1.16 to 9.7.1.21)");
    table
        .add("bfi.b32", op!(|a: u32, b: u32, c: u32, e: u32| insert(a.into(), b.into(), c, e, 32) as u32).bits(0b1100));
    table.add("bfi.b64", op!(|a: u64, b: u64, c: u32, e: u32| insert(a, b, c, e, 64)).bits(0b1100));
    table.add("bfe.u32", op!(|a: u32, b: u32, c: u32| extract(i64::from(a), b, c, 32, false) as u32).field());
    table.add("bfe.s32", op!(|a: i32, b: u32, c: u32| extract(i64::from(a), b, c, 32, true) as u32).field());
    table.add("bfe.u64", op!(|a: i64, b: u32, c: u32| extract(a, b, c, 64, false)).field());
    table.add("bfe.s64", op!(|a: i64, b: u32, c: u32| extract(a, b, c, 64, true)).field());
    // A mask of `b` bits from bit `a` on, and a number of `b` bits extended to 32. `wrap` takes both amounts modulo 32.
    table.add("bmsk.clamp.b32", op!(|a: u32, b: u32| (ones(b) << a.min(32)) as u32));
    table.add("bmsk.wrap.b32", op!(|a: u32, b: u32| (ones(b & 31) << (a & 31)) as u32));
    table
        .add("szext.clamp.u32", op!(|a: u32, b: u32| extract(i64::from(a), 0, b.min(32), 32, false) as u32).bits(0b10));
    table.add("szext.clamp.s32", op!(|a: u32, b: u32| extract(i64::from(a), 0, b.min(32), 32, true) as u32).bits(0b10));
    table.add("szext.wrap.u32", op!(|a: u32, b: u32| extract(i64::from(a), 0, b & 31, 32, false) as u32).bits(0b10));
    table.add("szext.wrap.s32", op!(|a: u32, b: u32| extract(i64::from(a), 0, b & 31, 32, true) as u32).bits(0b10));
}

impl Form {
    /// A bit field that is taken out of its first source.
    fn field(self) -> Self {
        self.bits(0b110).check(ArithmeticCheck::Bound)
    }
}

/// As many ones as 64 bits have room for 32 zeros below.
fn ones(count: u32) -> u64 {
    (1 << count.min(32)) - 1
}

/// The amounts of a bit field. The ISA allows 0 to 255. Beyond, an H200 takes bytes for 32 bits, and the whole registers for 64.
fn amounts(at: u32, length: u32, width: u32) -> (u32, u32) {
    let of = |amount: u32| if width == 32 { amount & 0xff } else { amount.min(0xff) };
    (of(at), of(length))
}

/// The low `length` bits of `a` put into `b` at bit `at` (9.7.1.17).
fn insert(a: u64, b: u64, at: u32, length: u32, width: u32) -> u64 {
    let (at, length) = amounts(at, length, width);
    let ones = if length >= width { u64::MAX >> (64 - width) } else { (1 << length) - 1 };
    let mask = ones.checked_shl(at).unwrap_or(0);
    b & !mask | a.checked_shl(at).unwrap_or(0) & mask
}

/// `length` bits of `a` from bit `at`, extended by the last of them where `signed` (9.7.1.16).
fn extract(a: i64, at: u32, length: u32, width: u32, signed: bool) -> i64 {
    let (at, length) = amounts(at, length, width);
    let sign_at = (at + length).saturating_sub(1).min(width - 1);
    let sign = signed && length > 0 && a >> sign_at & 1 != 0;
    (0..width)
        .map(|bit| {
            let set = if bit < length && at + bit < width { a >> (at + bit) & 1 != 0 } else { sign };
            i64::from(set) << bit
        })
        .fold(0, |all, bit| all | bit)
}

fn searches(table: &mut Table) {
    table.group("Searches for bits (9.7.1.13 to 9.7.1.15, 9.7.1.18)");
    each!(table, "clz", ["b32": u32, "b64": u64], |a| a.leading_zeros());
    each!(table, "popc", ["b32": u32, "b64": u64], |a| a.count_ones());
    each!(table, "brev", ["b32": u32, "b64": u64], |a| a.reverse_bits(), .bits(0));
    macro_rules! most_significant {
        ($($suffix:literal: $type:ident, |$a:ident| $bits:expr);+) => {$(
            table.add(concat!("bfind.", $suffix), op!(|$a: $type| {
                $bits.checked_ilog2().unwrap_or(u32::MAX)
            }));
            table.add(concat!("bfind.shiftamt.", $suffix), op!(|$a: $type| {
                $bits.checked_ilog2().map_or(u32::MAX, |bit| $type::BITS - 1 - bit)
            }));
        )+};
    }
    // In a signed number: the highest bit that differs from the sign.
    most_significant!(
        "u32": u32, |a| a;
        "u64": u64, |a| a;
        "s32": i32, |a| (a ^ a >> 31) as u32;
        "s64": i64, |a| (a ^ a >> 63) as u64
    );
    table.add("fns.b32", op!(|a: u32, b: u32, c: i32| nth_set(a, b, c)));
}

/// The place of the `n`-th bit that is set, from bit `from` on: upward, or downward if `n` is negative. The bit at `from` is the
/// first, and the only one if `n` is zero (9.7.1.18). For the least `n` an H200 finds 0.
fn nth_set(bits: u32, from: u32, n: i32) -> u32 {
    let is_set = |&at: &u32| bits >> at & 1 != 0;
    let skipped = (n.unsigned_abs() as usize).saturating_sub(1);
    let found = match n {
        i32::MIN => return 0,
        _ if from >= 32 => None,
        0 => Some(from).filter(is_set),
        1.. => (from..32).filter(is_set).nth(skipped),
        _ => (0..=from).rev().filter(is_set).nth(skipped),
    };
    found.unwrap_or(u32::MAX)
}

/// Four bytes of a pair of registers (9.7.9.7).
fn permutations(table: &mut Table) {
    table.group("Byte permutation (9.7.9.7)");
    table.add("prmt.b32", op!(|a: u32, b: u32, c: u32| permute(pair(a, b), c)).bits(0b100));
    macro_rules! modes {
        ($($mode:literal: $selections:expr),+) => {$(
            table.add(concat!("prmt.b32.", $mode), op!(|a: u32, b: u32, c: u32| {
                const SELECTIONS: [u32; 4] = $selections;
                permute(pair(a, b), SELECTIONS[c as usize & 3])
            }).bits(0b100));
        )+};
    }
    modes!(
        "f4e": [0x3210, 0x4321, 0x5432, 0x6543],
        "b4e": [0x5670, 0x6701, 0x7012, 0x0123],
        "rc8": [0x0000, 0x1111, 0x2222, 0x3333],
        "ecl": [0x3210, 0x3211, 0x3222, 0x3333],
        "ecr": [0x0000, 0x1110, 0x2210, 0x3210],
        "rc16": [0x1010, 0x3232, 0x1010, 0x3232]
    );
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

/// Any function of three bits, by its table of eight (9.7.8.6).
fn logic3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    let pick = |bits: u32, set: bool| if set { bits } else { !bits };
    (0..8u8)
        .filter(|row| table >> row & 1 != 0)
        .map(|row| pick(a, row & 4 != 0) & pick(b, row & 2 != 0) & pick(c, row & 1 != 0))
        .fold(0, |all, one| all | one)
}
