//! Logic, shifts, bit fields and byte permutation, bit by bit.

use super::{Oracle, typed};
use crate::types::{Type, ones};

const WORD: Type = Type::Unsigned(32);

pub fn of(name: &str) -> Option<Oracle> {
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
        "clz" => Oracle::plain(name, vec![one], WORD, move |x| {
            (0..width).rev().position(|at| bit(x[0], at) == 1).unwrap_or(bits as usize) as u64
        }),
        "popc" => Oracle::plain(name, vec![one], WORD, move |x| (0..width).map(|at| bit(x[0], at)).sum()),
        "brev" => Oracle::plain(name, vec![one], one, move |x| build(bits, |at| bit(x[0], width - 1 - at))),
        "bfi" => Oracle::plain(name, vec![one, one, WORD, WORD], one, move |x| {
            let (position, length) = (x[2] & 0xff, x[3] & 0xff);
            build(bits, |at| {
                let inside = at >= position && at - position < length;
                if inside { bit(x[0], at - position) } else { bit(x[1], at) }
            })
        }),
        "bfe" => Oracle::plain(name, vec![one, WORD, WORD], one, move |x| {
            let (position, length) = (x[1] & 0xff, x[2] & 0xff);
            let signed = matches!(one, Type::Signed(_)) && length > 0;
            let sign = if signed { bit(x[0], (position + length - 1).min(width - 1)) } else { 0 };
            build(bits, |at| if at < length && position + at < width { bit(x[0], position + at) } else { sign })
        }),
        "lop3" => every_table(name),
        "prmt" => Oracle::plain(name, vec![one; 3], one, |x| permute(x[0], x[1], x[2])),
        "shf.l.wrap" => Oracle::plain(name, vec![one; 3], one, move |x| {
            let (pair, by) = (x[1] << 32 | x[0], x[2] % 32);
            build(32, |at| bit(pair, 32 + at - by))
        }),
        "shf.r.wrap" => Oracle::plain(name, vec![one; 3], one, move |x| {
            let (pair, by) = (x[1] << 32 | x[0], x[2] % 32);
            build(32, |at| bit(pair, at + by))
        }),
        _ => return None,
    })
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
