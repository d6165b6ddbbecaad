//! Decodes video instructions: which parts of their registers they take, from the names behind these (PTX ISA 9.7.18).

use super::Decoder;
use crate::isa::{Part, Selection, Video, video};
use crate::kernel::{Inst, Op, ZERO};
use crate::ptx::{Operand, Source};

impl<'a> Decoder<'a> {
    /// `d[.part], [-]a[.part], [-]b[.part] [, [-]c]`
    pub(super) fn video(&mut self, video: Video, operands: &[Operand<'a>], source: Source) -> Result<(), String> {
        let malformed = || "a video instruction with these operands".to_string();
        let [d, a, b, rest @ ..] = operands else { return Err(malformed()) };
        let Operand::Name(d) = d else { return Err(malformed()) };
        let (d, to) = part_of(d);
        let [(a, a_part, a_negated), (b, b_part, b_negated)] = [a, b].map(|operand| selected(operand));
        let (third, third_negated) = match rest {
            [] => (None, false),
            [Operand::Negated(name)] => (Some(Operand::Name(name)), true),
            [one] => (Some(one.clone()), false),
            _ => return Err(malformed()),
        };
        let single = video.count == 1;
        if third.is_some() != (video.takes_third() || single && to.is_some()) {
            return Err(malformed());
        }
        let [whole, above] = [0, 4].map(|first| parts(video.count, first, None));
        let sources = [
            a_part.map_or(whole, |part| parts(video.count, 0, Some(part))),
            // The default of an instruction with one part is in its own register.
            b_part.map_or(above, |part| parts(video.count, if single { 4 } else { 0 }, Some(part))),
        ]
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .ok_or_else(malformed)?;
        let selection = Selection {
            sources: [sources[0], sources[1]],
            to: if single { to.map(|part| one(part, 0).ok_or_else(malformed)).transpose()? } else { None },
            mask: if single { 0 } else { mask(video.count, to).ok_or_else(malformed)? },
            negated: [a_negated != b_negated, third_negated],
        };
        let control = self.names.constant(video.control(&selection));
        let third = third.map_or(Ok(ZERO), |operand| self.value(&operand))?;
        let args = [self.value(&a)?, self.value(&b)?, third, control];
        let d = self.named(d)?;
        self.push(Inst { d, args, source, ..Inst::new(Op::Four(video::execute)) });
        Ok(())
    }
}

/// A source without its sign and its part.
fn selected<'a>(operand: &Operand<'a>) -> (Operand<'a>, Option<&'a str>, bool) {
    match operand {
        Operand::Name(name) => {
            let (name, part) = part_of(name);
            (Operand::Name(name), part, false)
        }
        Operand::Negated(name) => {
            let (name, part) = part_of(name);
            (Operand::Name(name), part, true)
        }
        other => (other.clone(), None, false),
    }
}

/// A register's name, and the part behind it.
fn part_of(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('.') {
        Some((register, part)) if part.starts_with(['b', 'h']) && part.len() > 1 => (register, Some(part)),
        _ => (name, None),
    }
}

/// The part of this name, in the register whose bytes begin at `first`.
fn one(name: &str, first: u8) -> Option<Part> {
    let bytes = if name.starts_with('b') { 1 } else { 2 };
    let number: u8 = name[1..].parse().ok().filter(|number| *number < 4 / bytes)?;
    Some(Part { bytes, first: first + number * bytes })
}

/// The parts of a source, lowest first: those of a name, the last of whose digits is the lowest, or all from `first` on.
fn parts(count: u8, first: u8, name: Option<&str>) -> Option<[Part; 4]> {
    let bytes = 4 / count;
    let mut parts = [Part { bytes, first }; 4];
    if count == 1 {
        return name.map_or(Some([Part { first, ..Part::WHOLE }; 4]), |name| one(name, first).map(|part| [part; 4]));
    }
    let digits: Vec<u8> = match name {
        Some(name) => name.bytes().skip(1).rev().map(|digit| digit.wrapping_sub(b'0')).collect(),
        None => (0..count).map(|number| first / bytes + number).collect(),
    };
    if digits.len() != usize::from(count) || digits.iter().any(|&digit| digit >= 2 * count) {
        return None;
    }
    for (part, digit) in parts.iter_mut().zip(digits) {
        part.first = digit * bytes;
    }
    Some(parts)
}

/// The parts that are written, a bit for each: those of a name like `h10` or `b31`, or all.
fn mask(count: u8, name: Option<&str>) -> Option<u8> {
    let Some(name) = name else { return Some((1 << count) - 1) };
    let bits = name.bytes().skip(1).map(|digit| digit.wrapping_sub(b'0'));
    bits.map(|digit| (digit < count).then(|| 1 << digit)).try_fold(0, |mask, bit| Some(mask | bit?))
}
