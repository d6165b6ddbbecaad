//! Logic, shifts, bit fields and byte permutation, bit by bit.

use super::{Oracle, typed};
use crate::types::{Type, ones};

const WORD: Type = Type::Unsigned(32);

pub fn of(name: &str) -> Option<Oracle> {
    if let Some(mode) = name.strip_prefix("prmt.b32.") {
        return rotated(name, mode);
    }
    let (operation, one) = typed(name)?;
    if one.is_float() {
        return None;
    }
    let bits = one.bits();
    let bit = |word: u64, at: u64| word >> at & 1;
    let width = u64::from(bits);
    Some(match operation {
        "and" => per_bit(name, one, 2, |x| x[0] & x[1]),
        "or" => per_bit(name, one, 2, |x| x[0] | x[1]),
        "xor" => per_bit(name, one, 2, |x| u64::from(x[0] != x[1])),
        "not" => per_bit(name, one, 1, |x| 1 - x[0]),
        "shl" => Oracle::plain(name, vec![one, WORD], one, move |x| {
            build(bits, |at| if at >= x[1] { bit(x[0], at - x[1]) } else { 0 })
        }),
        "shr" => Oracle::plain(name, vec![one, WORD], one, move |x| {
            let fill = if matches!(one, Type::Signed(_)) { bit(x[0], width - 1) } else { 0 };
            build(bits, |at| if at + x[1] < width { bit(x[0], at + x[1]) } else { fill })
        }),
        "cnot" => Oracle::plain(name, vec![one], one, |x| u64::from(x[0] == 0)),
        "bfind" => Oracle::plain(name, vec![one], WORD, move |x| highest(one, x[0]).unwrap_or(ones(32))),
        "bfind.shiftamt" => {
            Oracle::plain(name, vec![one], WORD, move |x| highest(one, x[0]).map_or(ones(32), |at| width - 1 - at))
        }
        "fns" => Oracle::plain(name, vec![one, one, one], one, |x| nth(x[0], x[1], x[2])),
        "bmsk.clamp" => {
            Oracle::plain(name, vec![one; 2], one, move |x| build(bits, |at| u64::from(at >= x[0] && at < x[0] + x[1])))
        }
        "bmsk.wrap" => Oracle::plain(name, vec![one; 2], one, move |x| {
            build(bits, |at| u64::from(at >= x[0] % 32 && at < x[0] % 32 + x[1] % 32))
        }),
        "szext.clamp" => Oracle::plain(name, vec![one; 2], one, move |x| sized(one, x[0], x[1].min(32))),
        "szext.wrap" => Oracle::plain(name, vec![one; 2], one, move |x| sized(one, x[0], x[1] % 32)),
        "clz" => Oracle::plain(name, vec![one], WORD, move |x| {
            (0..width).rev().position(|at| bit(x[0], at) == 1).unwrap_or(bits as usize) as u64
        }),
        "popc" => Oracle::plain(name, vec![one], WORD, move |x| (0..width).map(|at| bit(x[0], at)).sum()),
        "brev" => Oracle::plain(name, vec![one], one, move |x| build(bits, |at| bit(x[0], width - 1 - at))),
        "bfi" => Oracle::plain(name, vec![one, one, WORD, WORD], one, move |x| {
            let (position, length) = (amount(one, x[2]), amount(one, x[3]));
            build(bits, |at| {
                let inside = at >= position && at - position < length;
                if inside { bit(x[0], at - position) } else { bit(x[1], at) }
            })
        }),
        "bfe" => Oracle::plain(name, vec![one, WORD, WORD], one, move |x| {
            let (position, length) = (amount(one, x[1]), amount(one, x[2]));
            let signed = matches!(one, Type::Signed(_)) && length > 0;
            let sign = if signed { bit(x[0], (position + length - 1).min(width - 1)) } else { 0 };
            build(bits, |at| if at < length && position + at < width { bit(x[0], position + at) } else { sign })
        }),
        "lop3" => every_table(name),
        "lop3.or" | "lop3.and" => with_predicate(name),
        "prmt" => Oracle::plain(name, vec![one; 3], one, |x| permute(x[0], x[1], x[2])),
        "shf.l.wrap" => Oracle::plain(name, vec![one; 3], one, move |x| {
            let (pair, by) = (x[1] << 32 | x[0], x[2] % 32);
            build(32, |at| bit(pair, 32 + at - by))
        }),
        "shf.l.clamp" => Oracle::plain(name, vec![one; 3], one, move |x| {
            let (pair, by) = (x[1] << 32 | x[0], x[2].min(32));
            build(32, |at| bit(pair, 32 + at - by))
        }),
        "shf.r.clamp" => Oracle::plain(name, vec![one; 3], one, move |x| {
            let (pair, by) = (x[1] << 32 | x[0], x[2].min(32));
            build(32, |at| bit(pair, at + by))
        }),
        "shf.r.wrap" => Oracle::plain(name, vec![one; 3], one, move |x| {
            let (pair, by) = (x[1] << 32 | x[0], x[2] % 32);
            build(32, |at| bit(pair, at + by))
        }),
        _ => return None,
    })
}

/// A position or a length. Beyond 255, which the ISA does not allow, an H200 takes a byte for 32 bits, and all for 64.
fn amount(one: Type, x: u64) -> u64 {
    if one.bits() == 32 { x & 0xff } else { x }
}

fn build(bits: u32, bit: impl Fn(u64) -> u64) -> u64 {
    (0..u64::from(bits)).map(|at| bit(at) << at).sum()
}

fn per_bit(name: &str, one: Type, operands: usize, bit: impl Fn(&[u64]) -> u64 + 'static) -> Oracle {
    Oracle::plain(name, vec![one; operands], one, move |x| {
        build(one.bits(), |at| bit(&x.iter().map(|word| word >> at & 1).collect::<Vec<_>>()))
    })
}

/// All 256 functions of three bits: the table is an immediate.
fn every_table(name: &str) -> Oracle {
    let lines: Vec<String> = (0..256).map(|table| format!("{name} %d{table}, %a0, %a1, %a2, {table};")).collect();
    let value = |x: &[u64]| {
        let one = |table: u64| {
            build(32, |at| {
                let bit = |word: u64| word >> at & 1;
                table >> (bit(x[0]) << 2 | bit(x[1]) << 1 | bit(x[2])) & 1
            })
        };
        (0..256).map(one).collect()
    };
    let (from, to) = (vec![WORD; 3], vec![WORD; 256]);
    Oracle { code: lines.join("\n"), from, to, any_nan: false, value: Box::new(value) }
}

/// One of these functions, and whether its result is not zero, combined with a predicate.
fn with_predicate(name: &str) -> Oracle {
    let ands = name.contains("and");
    let value = move |x: &[u64]| {
        // The table of `a & (b ^ c)`.
        let bits = x[0] & (x[1] ^ x[2]);
        let other = x[3] & 1 == 1;
        let holds = if ands { bits != 0 && other } else { bits != 0 || other };
        vec![bits, u64::from(holds)]
    };
    let (from, to) = (vec![WORD, WORD, WORD, Type::Pred], vec![WORD, Type::Pred]);
    let code = format!("{name} %d0|%d1, %a0, %a1, %a2, 0x60, %a3;");
    Oracle { code, from, to, any_nan: false, value: Box::new(value) }
}

fn permute(a: u64, b: u64, control: u64) -> u64 {
    let bytes: Vec<u64> = (0..8).map(|place| (b << 32 | a) >> (8 * place) & 0xff).collect();
    let pick = |place: u64| {
        let nibble = control >> (4 * place) & 0xf;
        let byte = bytes[(nibble % 8) as usize];
        let sign = if byte >= 0x80 { 0xff } else { 0 };
        (if nibble >= 8 { sign } else { byte }) << (8 * place)
    };
    (0..4).map(pick).sum::<u64>() & ones(32)
}

/// The highest bit that is not a copy of the sign.
fn highest(one: Type, word: u64) -> Option<u64> {
    let number = one.integer(word);
    (0..u64::from(one.bits())).rev().find(|at| number >> at & 1 != i128::from(number < 0))
}

/// The bit that is the `count`-th set one from `from` on, in the direction of the count's sign.
fn nth(word: u64, from: u64, count: u64) -> u64 {
    let (mut left, step) = match count as u32 as i32 {
        // As an H200 does.
        i32::MIN => return 0,
        0 => return if from < 32 && word >> from & 1 == 1 { from } else { ones(32) },
        count => (i64::from(count).abs(), i64::from(count.signum())),
    };
    let mut at = from as i64;
    while (0..32).contains(&at) {
        left -= (word >> at & 1) as i64;
        if left == 0 {
            return at as u64;
        }
        at += step;
    }
    ones(32)
}

/// The low bits of a word, with the sign that they have.
fn sized(one: Type, word: u64, bits: u64) -> u64 {
    let sign = if matches!(one, Type::Signed(_)) && bits > 0 { word >> (bits - 1) & 1 } else { 0 };
    build(32, |at| if at < bits { word >> at & 1 } else { sign })
}

/// `prmt` with a mode: the bytes that it takes for each of four numbers, the last one first (PTX ISA 9.7.9.7).
fn rotated(name: &str, mode: &str) -> Option<Oracle> {
    let pick: fn(u64, u64) -> u64 = match mode {
        // Four bytes forward, or backward.
        "f4e" => |number, place| number + place,
        "b4e" => |number, place| (8 + number - place) % 8,
        "rc8" => |number, _| number,
        // No lower, or no higher, than the number.
        "ecl" => |number, place| place.max(number),
        "ecr" => |number, place| place.min(number),
        "rc16" => |number, place| number % 2 * 2 + place % 2,
        _ => return None,
    };
    Some(Oracle::plain(name, vec![WORD; 3], WORD, move |x| {
        let pair = x[1] << 32 | x[0];
        (0..4).map(|place| (pair >> (8 * pick(x[2] % 4, place)) & 0xff) << (8 * place)).sum()
    }))
}
