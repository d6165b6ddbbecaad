//! The PTX forms to record, and the operands of each.

use std::hash::Hasher;

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use siphasher::sip::SipHasher13;

use crate::case::Case;
use crate::ops::form::case;

/// The list that the simulator's conformance tests write: family, form, types of operands and of results, and PTX.
const LIST: &str = include_str!("../../corpora/forms.tsv");

/// How many tuples of operands a form has: one for each lane of a warp.
const TUPLES: usize = 32;

/// A form to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormSpec {
    /// The family, such as `compare`.
    pub family: &'static str,
    /// The form, such as `ex2.approx.f32`.
    pub name: &'static str,
    /// The types of the operands, with spaces between them.
    pub from: &'static str,
    /// The types of the results, with spaces between them.
    pub to: &'static str,
    /// The PTX.
    pub code: &'static str,
}

/// Every form of the list.
pub fn all() -> Vec<FormSpec> {
    let form = |line: &'static str| match line.split('\t').collect::<Vec<_>>()[..] {
        [family, name, from, to, code] => FormSpec { family, name, from, to, code },
        _ => panic!("`{line}` is not a line of corpora/forms.tsv"),
    };
    LIST.lines().skip(1).map(form).collect()
}

impl FormSpec {
    /// The case that executes the form on its operands.
    pub fn case(&self) -> Case {
        case(self.code, self.from, self.to, &self.operands())
    }

    /// A hash of the operands. A vector holds for these operands only.
    pub fn hash(&self) -> u64 {
        let mut hasher = SipHasher13::new();
        self.operands().iter().flatten().for_each(|bits| hasher.write_u64(*bits));
        hasher.write(self.code.as_bytes());
        hasher.finish()
    }

    /// Tuples of operands: special values of each type in turn, beside random ones.
    fn operands(&self) -> Vec<Vec<u64>> {
        let mut hasher = SipHasher13::new();
        hasher.write(self.name.as_bytes());
        let mut random = Pcg64Mcg::seed_from_u64(hasher.finish());
        let types: Vec<&str> = self.from.split(' ').collect();
        let tuple = |row: usize, random: &mut Pcg64Mcg| {
            let operand = |(place, name): (usize, &&str)| {
                let specials = specials(name);
                // The first operand takes each special value once, the others any of them, and the last rows are random.
                match (place, random.next_u64()) {
                    (0, _) if row < specials.len().min(TUPLES * 2 / 3) => specials[row],
                    (_, chance) if row < TUPLES * 2 / 3 => specials[chance as usize % specials.len()],
                    (_, chance) => ordinary(name, chance),
                }
            };
            types.iter().enumerate().map(operand).collect()
        };
        (0..TUPLES).map(|row| tuple(row, &mut random)).collect()
    }
}

/// The layout of a float: bits of the exponent and of the fraction; `None` for other types.
pub(super) fn layout(name: &str) -> Option<(u32, u32)> {
    Some(match name {
        "f16" | "f16x2" => (5, 10),
        "bf16" | "bf16x2" => (8, 7),
        "f32" => (8, 23),
        "f64" => (11, 52),
        _ => return None,
    })
}

/// The bits of a type.
fn width(name: &str) -> u32 {
    match name {
        "pred" => 1,
        "e4m3x2" => 16,
        "f16x2" | "bf16x2" => 32,
        _ => name.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().unwrap_or(32),
    }
}

fn ones(count: u32) -> u64 {
    u64::MAX.checked_shr(64 - count).unwrap_or(0)
}

/// Values where something changes: zeros, subnormal numbers, one, the largest, infinities, NaN; ends and signs of integers.
fn specials(name: &str) -> Vec<u64> {
    let Some((exponent, fraction)) = layout(name) else {
        let bits = width(name);
        let all = [0, 1, 2, ones(bits), ones(bits) >> 1, (ones(bits) >> 1) + 1, 0x55, 0x80 & ones(bits)];
        return all.iter().map(|value| value & ones(bits)).collect();
    };
    let (one, infinity, sign) = (ones(exponent - 1) << fraction, ones(exponent) << fraction, exponent + fraction);
    let halfway = one + (1 << (fraction - 1));
    let magnitudes =
        [0, 1, ones(fraction), 1 << fraction, one - 1, one, halfway, one + (2 << fraction), infinity - 1, infinity];
    let mut all: Vec<u64> = magnitudes.iter().flat_map(|&magnitude| [magnitude, magnitude | 1 << sign]).collect();
    all.push(infinity + (1 << (fraction - 1)));
    if name.ends_with("x2") {
        let others = all.clone();
        all.iter_mut().zip(others.iter().cycle().skip(7)).for_each(|(low, high)| *low |= high << 16);
    }
    all
}

/// A random value; a float is of a size near 1, so that little over- or underflows.
fn ordinary(name: &str, chance: u64) -> u64 {
    let near = |(exponent, fraction): (u32, u32), chance: u64| {
        let field = ones(exponent - 1) - 8 + (chance >> 56) % 16;
        (chance & 1) << (exponent + fraction) | field << fraction | chance >> 4 & ones(fraction)
    };
    match layout(name) {
        Some(layout) if name.ends_with("x2") => near(layout, chance) | near(layout, chance.rotate_left(29)) << 16,
        Some(layout) => near(layout, chance),
        None => chance & ones(width(name)),
    }
}
