//! Video instructions (PTX ISA 9.7.18): arithmetic on a part of a register, or on its two halves or four bytes at once, with a second
//! operation or a merge. One function does all: its fourth source is a constant that says what and on which parts.

use super::{Action, Form, Table};
use crate::lanes::{Lanes, WARP};

/// What an instruction computes of two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Add,
    Subtract,
    AbsoluteDifference,
    Minimum,
    Maximum,
    Average,
    ShiftLeft,
    ShiftRight,
    MultiplyAdd,
    Compare,
}

/// The operations, by their number in a [`Video`]'s bits.
const OPERATIONS: [(&str, Operation); 10] = [
    ("vadd", Operation::Add),
    ("vsub", Operation::Subtract),
    ("vabsdiff", Operation::AbsoluteDifference),
    ("vmin", Operation::Minimum),
    ("vmax", Operation::Maximum),
    ("vavrg", Operation::Average),
    ("vshl", Operation::ShiftLeft),
    ("vshr", Operation::ShiftRight),
    ("vmad", Operation::MultiplyAdd),
    ("vset", Operation::Compare),
];
const TESTS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];

/// A part of a register: its bytes, and the number of the first one. The eight bytes of two registers are numbered in one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// 1, 2 or 4.
    pub bytes: u8,
    /// From 0 to 7.
    pub first: u8,
}

impl Part {
    /// The whole register.
    pub const WHOLE: Self = Self { bytes: 4, first: 0 };

    fn bits(self) -> u64 {
        u64::from(self.bytes.trailing_zeros() as u8 | self.first << 2)
    }

    fn of(bits: u64) -> Self {
        Self { bytes: 1 << (bits & 3), first: bits as u8 >> 2 & 7 }
    }

    fn read(self, registers: u64, signed: bool) -> i128 {
        let unused = 64 - 8 * u32::from(self.bytes);
        let bits = registers >> (8 * self.first) << unused;
        if signed { i128::from(bits as i64 >> unused) } else { i128::from(bits >> unused) }
    }
}

/// A video instruction.
#[derive(Debug, Clone, Copy)]
pub struct Video {
    operation: Operation,
    /// How many parts of a register are computed at once.
    pub count: u8,
    /// Whether result, first and second source have signs.
    signed: [bool; 3],
    saturates: bool,
    /// What is done with the result and the third source: nothing, a sum, the lesser or the greater.
    second: u8,
    /// The comparison, whether a shift wraps, or how far a product is shifted down.
    mode: u8,
    plus_one: bool,
}

/// The operands of a video instruction, beyond registers.
#[derive(Debug, Clone, Copy)]
pub struct Selection {
    /// The parts of the first and of the second source, lowest first.
    pub sources: [[Part; 4]; 2],
    /// The part of the destination that is written; the rest is that of the third source.
    pub to: Option<Part>,
    /// The parts that are written, a bit for each, of an instruction that computes several.
    pub mask: u8,
    /// True if the product is negated, and if the third source is.
    pub negated: [bool; 2],
}

impl Video {
    /// The instruction of this name.
    fn named(name: &str) -> Option<Self> {
        let words: Vec<&str> = name.split('.').collect();
        let (base, count) = match words[0].as_bytes().last()? {
            b'2' => (&words[0][..words[0].len() - 1], 2),
            b'4' => (&words[0][..words[0].len() - 1], 4),
            _ => (words[0], 1),
        };
        let &(_, operation) = OPERATIONS.iter().find(|(known, _)| *known == base)?;
        let types = if operation == Operation::Compare { 2 } else { 3 };
        let sign = |word: &&str| match *word {
            "u32" => Some(false),
            "s32" => Some(true),
            _ => None,
        };
        let signs: Vec<bool> = words.get(1..=types)?.iter().map(sign).collect::<Option<_>>()?;
        // The result of a comparison is 0 or 1.
        let signed = if let [a, b] = signs[..] { [false, a, b] } else { [signs[0], signs[1], signs[2]] };
        let mut video = Self { operation, count, signed, saturates: false, second: 0, mode: 0, plus_one: false };
        let is_shift = matches!(operation, Operation::ShiftLeft | Operation::ShiftRight);
        let has_average = operation == Operation::Average && count == 1;
        let has_product = matches!(operation, Operation::MultiplyAdd) || is_shift;
        if has_average || has_product && count > 1 || is_shift && signed[2] {
            return None;
        }
        let mut modes = 0;
        for word in &words[types + 1..] {
            let test = TESTS.iter().position(|test| test == word);
            match (*word, operation) {
                ("sat", _) if operation != Operation::Compare => video.saturates = true,
                ("po", Operation::MultiplyAdd) => video.plus_one = true,
                ("clamp", _) if is_shift => modes += 1,
                ("wrap", _) if is_shift => (video.mode, modes) = (1, modes + 1),
                ("shr7", Operation::MultiplyAdd) => video.mode = 7,
                ("shr15", Operation::MultiplyAdd) => video.mode = 15,
                (_, Operation::Compare) if test.is_some() => (video.mode, modes) = (test? as u8, modes + 1),
                ("add", _) => video.second = 1,
                ("min" | "max", Operation::MultiplyAdd) => return None,
                ("min", _) if count == 1 => video.second = 2,
                ("max", _) if count == 1 => video.second = 3,
                _ => return None,
            }
        }
        let needs_mode = is_shift || operation == Operation::Compare;
        (modes == usize::from(needs_mode)).then_some(video)
    }

    /// True if it has a second operation or always takes a third source.
    pub fn takes_third(self) -> bool {
        self.second > 0 || self.count > 1 || self.operation == Operation::MultiplyAdd
    }

    /// The constant that says what [`execute`] does.
    pub fn control(self, selection: &Selection) -> u64 {
        let operation = OPERATIONS.iter().position(|(_, known)| *known == self.operation).unwrap_or_default() as u64;
        let flags = [self.signed[0], self.signed[1], self.signed[2], self.saturates, self.plus_one];
        let flags = flags.into_iter().chain(selection.negated).chain([selection.to.is_some()]);
        let flags: u64 = flags.zip(4..).map(|(flag, at)| u64::from(flag) << at).sum();
        let numbers = u64::from(self.count) << 12 | u64::from(self.second) << 15 | u64::from(self.mode) << 17;
        // A part of a whole register is its number among others of its size; a byte more says the size.
        let [a, b] =
            selection.sources.map(|parts| parts.iter().rev().fold(0, |bits, part| bits << 3 | u64::from(part.first)));
        let bytes = |parts: &[Part; 4]| u64::from(parts[0].bytes.trailing_zeros());
        let sizes = bytes(&selection.sources[0]) | bytes(&selection.sources[1]) << 2;
        let to = selection.to.map_or(u64::from(selection.mask), Part::bits);
        operation | flags | numbers | a << 21 | b << 33 | sizes << 45 | to << 49
    }
}

pub(super) fn forms(table: &mut Table) {
    table.group("Video instructions (9.7.18)");
    for signs in 0..8 {
        let word = |at: u32| if signs >> at & 1 == 0 { "u32" } else { "s32" };
        for end in ["", ".sat", ".add"] {
            let name = format!("vabsdiff4.{}.{}.{}{end}", word(2), word(1), word(0));
            if let Some(form) = form(&name) {
                table.add(name, form);
            }
        }
    }
}

/// The form of this name. The compiler emulates most of them, so that the table has only those that GPUs have.
pub(super) fn form(name: &str) -> Option<Form> {
    Video::named(name).map(|video| Action::Video(video).into())
}

/// What a video instruction does with the registers `a`, `b` and `c`.
pub fn execute(a: &Lanes, b: &Lanes, c: &Lanes, control: &Lanes, out: &mut Lanes) {
    for lane in 0..WARP {
        out[lane] = u64::from(compute(a[lane] as u32, b[lane] as u32, c[lane] as u32, control[lane]));
    }
}

fn compute(a: u32, b: u32, c: u32, control: u64) -> u32 {
    let flag = |at: u32| control >> at & 1 == 1;
    let number = |at: u32, bits: u32| control >> at & ((1 << bits) - 1);
    let operation = OPERATIONS[number(0, 4) as usize].1;
    let [signed, plus_one, has_part] = [flag(4), flag(8), flag(11)];
    let (count, second, mode) = (number(12, 3) as u8, number(15, 2), number(17, 4) as u32);
    let registers = u64::from(b) << 32 | u64::from(a);
    let part = |at: u32, size: u32, place: u8| Part {
        bytes: 1 << number(size, 2),
        first: number(at + 3 * u32::from(place), 3) as u8,
    };
    let sources =
        |place: u8| [part(21, 45, place).read(registers, flag(5)), part(33, 47, place).read(registers, flag(6))];
    let written = if has_part { Part::of(number(49, 5)) } else { Part { bytes: 4 / count, first: 0 } };
    let limit = |value: i128, bytes: u8, signed: bool| {
        let bits = 8 * u32::from(bytes);
        let (least, most) = if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
        if flag(7) { value.clamp(least, most) } else { value }
    };
    if operation == Operation::MultiplyAdd {
        let [x, y] = sources(0);
        let negated = [flag(9), flag(10)];
        let is_signed = flag(5) || flag(6) || negated[0] || negated[1];
        let third = if is_signed { i128::from(c as i32) } else { i128::from(c) };
        let product = if negated[0] { -(x * y) } else { x * y };
        let third = if negated[1] { -third } else { third };
        return limit((product + third + i128::from(plus_one)) >> mode, 4, is_signed) as u32;
    }
    let result = |place: u8| limit(binary(operation, sources(place), mode), written.bytes, signed);
    if count > 1 {
        let mask = number(49, 4);
        return (0..count).filter(|place| mask >> place & 1 == 1).fold(c, |all, place| {
            if second > 0 {
                all.wrapping_add(result(place) as u32)
            } else {
                merge(all, result(place), written.bytes, place * written.bytes)
            }
        });
    }
    let third = if signed { i128::from(c as i32) } else { i128::from(c) };
    match (has_part, second) {
        (true, _) => merge(c, result(0), written.bytes, written.first),
        (_, 1) => (result(0) + third) as u32,
        (_, 2) => result(0).min(third) as u32,
        (_, 3) => result(0).max(third) as u32,
        _ => result(0) as u32,
    }
}

/// Puts the low bytes of a number into others.
fn merge(into: u32, number: i128, bytes: u8, first: u8) -> u32 {
    let mask = ((1u64 << (8 * bytes)) - 1) as u32;
    let at = 8 * first;
    into & !(mask << at) | (number as u32 & mask) << at
}

fn binary(operation: Operation, [a, b]: [i128; 2], mode: u32) -> i128 {
    let by = if mode == 1 { b & 31 } else { b.min(32) } as u32;
    match operation {
        Operation::Add | Operation::MultiplyAdd => a + b,
        Operation::Subtract => a - b,
        Operation::AbsoluteDifference => (a - b).abs(),
        Operation::Minimum => a.min(b),
        Operation::Maximum => a.max(b),
        Operation::Average => (a + b + i128::from(a + b >= 0)) >> 1,
        Operation::ShiftLeft => a << by,
        Operation::ShiftRight => a >> by,
        Operation::Compare => i128::from(match TESTS[mode as usize % TESTS.len()] {
            "eq" => a == b,
            "ne" => a != b,
            "lt" => a < b,
            "le" => a <= b,
            "gt" => a > b,
            _ => a >= b,
        }),
    }
}
