//! What forms must compute, by their names: written from the PTX ISA, with other arithmetic than the simulator's.

pub mod approximate;
pub mod carry;
pub mod compare;
pub mod convert;
pub mod float;
pub mod integer;
pub mod logic;
pub mod moves;
pub mod video;

use crate::types::Type;

/// Instructions under test, and their expected results.
pub struct Oracle {
    /// PTX that reads `%a0`, `%a1`, … and writes `%d0`, ….
    pub code: String,
    /// The operands' types.
    pub from: Vec<Type>,
    /// The results' types.
    pub to: Vec<Type>,
    /// Whether all NaNs count as equal.
    pub any_nan: bool,
    /// The results of operands.
    pub value: Value,
}

type Value = Box<dyn Fn(&[u64]) -> Vec<u64>>;

/// What a form of a family must compute; `None` for a form of another family.
pub type Family = fn(&str) -> Option<Oracle>;

/// One oracle per family. A form belongs to at most one family.
pub const FAMILIES: [(&str, Family); 9] = [
    ("integer", integer::of),
    ("carry", carry::of),
    ("logic", logic::of),
    ("compare", compare::of),
    ("float", float::of),
    ("approximate", approximate::of),
    ("convert", convert::of),
    ("moves", moves::of),
    ("video", video::of),
];

impl Oracle {
    /// One instruction with one result and registers for operands.
    pub fn plain(name: &str, from: Vec<Type>, to: Type, value: impl Fn(&[u64]) -> u64 + 'static) -> Self {
        let operands: Vec<String> = (0..from.len()).map(|number| format!("%a{number}")).collect();
        let code = format!("{name} %d0, {};", operands.join(", "));
        Self { code, from, to: vec![to], any_nan: false, value: Box::new(move |operands| vec![value(operands)]) }
    }
}

/// The oracle of a form with `.ftz`, by that of the form without it: subnormal sources and results in single precision count as zero, and
/// `halves`, too, if they do.
pub fn flushed(name: &str, of: Family, halves: bool) -> Option<Oracle> {
    let base = name.replacen(".ftz", "", 1);
    let Oracle { code, from, to, any_nan, value } = of(&base)?;
    let flush = move |one: &Type, bits: u64| {
        let x = f32::from_bits(bits as u32);
        let half = |bits: u64| if bits & 0x7c00 == 0 { bits & 0x8000 } else { bits };
        match *one {
            Type::F16 if halves => half(bits),
            Type::F16x2 if halves => half(bits & 0xffff) | half(bits >> 16) << 16,
            Type::F32 if x.is_subnormal() => bits & 0x8000_0000,
            // What flushes makes one of all NaNs.
            Type::F32 if x.is_nan() => 0x7fff_ffff,
            _ => bits,
        }
    };
    let (sources, results) = (from.clone(), to.clone());
    let value = move |x: &[u64]| {
        let x: Vec<u64> = sources.iter().zip(x).map(|(one, &bits)| flush(one, bits)).collect();
        value(&x).into_iter().zip(&results).map(|(bits, one)| flush(one, bits)).collect()
    };
    Some(Oracle { code: code.replacen(&base, name, 1), from, to, any_nan, value: Box::new(value) })
}

/// The operation and its type: `mul.wide.u16` is `mul.wide` of `u16`.
pub fn typed(name: &str) -> Option<(&str, Type)> {
    let (operation, suffix) = name.rsplit_once('.')?;
    Some((operation, Type::named(suffix)?))
}
