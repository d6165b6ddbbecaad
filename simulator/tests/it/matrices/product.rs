//! Products of matrices of numbers that are exact in integers, or of doubles, and what a form's name says of them.

use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use crate::types::{Random, ones};

/// A form of `mma` or `wmma.mma`, taken apart.
pub struct Product {
    pub name: String,
    pub shape: String,
    /// Of `a` and `b`.
    pub layouts: [String; 2],
    /// Of `d`, `a`, `b` and `c`.
    pub types: [String; 4],
    pub saturates: bool,
    /// How doubles are rounded.
    round: Round,
    /// `xor` or `and`, where bits are counted.
    pub counts: Option<String>,
}

/// Rows of numbers: integers, or multiples of [`unit`].
pub type Numbers = Vec<Vec<i64>>;

impl Product {
    pub fn parse(name: &str) -> Option<Self> {
        let words: Vec<&str> = name.split('.').collect();
        words.iter().position(|&word| word == "mma")?;
        let of = |known: &[&str]| -> Vec<String> {
            words.iter().filter(|word| known.contains(word)).map(ToString::to_string).collect()
        };
        let shape = words.iter().find(|word| word.starts_with('m') && word.contains('n'))?.to_string();
        let types = of(&["f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2", "s32", "s8", "u8", "s4", "u4", "b1"]);
        let types = match types.as_slice() {
            // Factors of f16 are not named by `wmma`.
            [d, c] => [d.clone(), "f16".to_string(), "f16".to_string(), c.clone()],
            _ => types.try_into().ok()?,
        };
        Some(Self {
            name: name.to_string(),
            shape,
            layouts: of(&["row", "col"]).try_into().ok()?,
            types,
            saturates: words.contains(&"satfinite"),
            round: match of(&["rz", "rm", "rp"]).first().map(String::as_str) {
                Some("rz") => Round::TowardZero,
                Some("rm") => Round::TowardNegative,
                Some(_) => Round::TowardPositive,
                None => Round::NearestTiesToEven,
            },
            counts: of(&["xor", "and"]).pop(),
        })
    }

    /// M, N and K.
    pub fn sizes(&self) -> [usize; 3] {
        let numbers: Vec<usize> = self.shape[1..].split(['n', 'k']).map(|size| size.parse().expect("a size")).collect();
        numbers.try_into().expect("three sizes")
    }

    /// Rows of `a`, `b` and `c`: any integers and doubles, and few bits of other reals near each other, so that sums are exact.
    pub fn factors(&self, random: &mut Random) -> [Numbers; 3] {
        let [m, n, k] = self.sizes();
        let [_, a, b, c] = &self.types;
        let mut numbers = |rows: usize, columns: usize, element: &str, adds: bool| -> Numbers {
            (0..rows).map(|_| (0..columns).map(|_| number(random, element, adds)).collect()).collect()
        };
        [numbers(m, k, a, false), numbers(k, n, b, false), numbers(m, n, c, true)]
    }

    /// The bits of the elements of `d`, row by row.
    pub fn results(&self, [a, b, c]: &[Numbers; 3]) -> Vec<Vec<u64>> {
        let [m, n, k] = self.sizes();
        let join = |x: i64, y: i64| match self.counts.as_deref() {
            Some("xor") => x ^ y,
            Some(_) => x & y,
            None => x * y,
        };
        // A chain of fused multiply-adds.
        let double = |row: usize, column: usize| {
            let of = |number: i64, sums: bool| Double::from_bits(bits("f64", number, sums).into());
            let add = |sum: Double, at: usize| {
                of(a[row][at], false).mul_add_r(of(b[at][column], false), sum, self.round).value
            };
            (0..k).fold(of(c[row][column], true), add).to_bits() as u64
        };
        let element = |row: usize, column: usize| {
            if self.types[0] == "f64" {
                return double(row, column);
            }
            let sum = (0..k).map(|at| join(a[row][at], b[at][column])).sum::<i64>() + c[row][column];
            let limited = if self.saturates { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
            bits(&self.types[0], limited, true)
        };
        (0..m).map(|row| (0..n).map(|column| element(row, column)).collect()).collect()
    }
}

pub fn width(element: &str) -> usize {
    match element {
        "tf32" => 32,
        "e4m3" | "e5m2" => 8,
        "bf16" => 16,
        _ => element[1..].parse().expect("a number of bits"),
    }
}

/// The power of two that factors of reals are multiples of. Sums are multiples of its square.
const UNIT: i32 = -9;

fn number(random: &mut Random, element: &str, adds: bool) -> i64 {
    let any = random.next() as i64;
    match (element, adds) {
        ("s32", _) => match any % 3 {
            0 => i64::from(i32::MAX) - (any >> 8 & 0xff),
            1 => i64::from(i32::MIN) + (any >> 8 & 0xff),
            _ => i64::from(any as i32),
        },
        (signed, _) if signed.starts_with('s') => any << (64 - width(signed)) >> (64 - width(signed)),
        (natural, _) if natural.starts_with('u') || natural == "b1" => any & ones(width(natural) as u32) as i64,
        ("f64", _) => any >> 11,
        (_, false) => (any % 4) << random.below(12),
        // Two significant bits, as f16 has few.
        (_, true) => (any % 4) << random.below(22),
    }
}

/// The bits of a number. That of a real is rounded to nearest even: it is in units of a factor, or of a sum.
pub fn bits(element: &str, number: i64, sums: bool) -> u64 {
    fn real<F>(number: i64, unit: i32) -> u64
    where
        F: Float,
        Double: FloatConvert<F>,
    {
        // Exact, then rounded once.
        let exact = Double::from_i128(number.into()).value.scalbn(unit);
        let rounded: F = exact.convert(&mut false).value;
        rounded.to_bits() as u64
    }
    let unit = if sums { 2 * UNIT } else { UNIT };
    match element {
        "f16" => real::<Half>(number, unit),
        "bf16" => real::<BFloat>(number, unit),
        "f32" | "tf32" => real::<Single>(number, unit),
        "f64" => real::<Double>(number, unit),
        "e4m3" => real::<Float8E4M3FN>(number, unit),
        "e5m2" => real::<Float8E5M2>(number, unit),
        integer => number as u64 & ones(width(integer) as u32),
    }
}
