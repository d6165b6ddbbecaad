//! The types of floating-point numbers that instructions compute with, by their names (PTX ISA 5.2.1).

use crate::lanes::{Bf16, F16, Lane};

/// A type of floating-point numbers, of which a register holds one or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloatType {
    /// `f16`.
    F16,
    /// `bf16`.
    Bf16,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// `f16x2`.
    F16Pair,
    /// `bf16x2`.
    Bf16Pair,
}

/// Those of an instruction: of its sources, and of its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FloatTypes {
    /// That of each source.
    pub from: FloatType,
    /// That of the result.
    pub to: FloatType,
}

impl FloatType {
    fn named(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "f16x2" => Self::F16Pair,
            "bf16x2" => Self::Bf16Pair,
            _ => return None,
        })
    }

    /// The numbers in a register; twice the same if it holds one.
    pub fn numbers(self, bits: u64) -> [f64; 2] {
        match self {
            Self::F16 => [F16::of(bits).0.into(); 2],
            Self::Bf16 => [Bf16::of(bits).0.into(); 2],
            Self::F32 => [f32::of(bits).into(); 2],
            Self::F64 => [f64::of(bits); 2],
            Self::F16Pair => [bits, bits >> 16].map(|bits| F16::of(bits).0.into()),
            Self::Bf16Pair => [bits, bits >> 16].map(|bits| Bf16::of(bits).0.into()),
        }
    }

    /// A number of this type, with as many digits as tell it from others.
    pub fn shown(self, number: f64) -> String {
        if self == Self::F64 { format!("{number:?}") } else { format!("{:?}", number as f32) }
    }
}

impl FloatTypes {
    /// The types of an instruction that computes floating-point numbers of such, or chooses one; `None` for one that only moves or compares
    /// them.
    pub fn of(opcode: &str) -> Option<Self> {
        const MOVES: [&str; 9] = ["mov", "slct", "setp", "set", "testp", "min", "max", "abs", "neg"];
        let mut words = opcode.split('.');
        let word = words.next().filter(|word| !MOVES.contains(word))?;
        let is_type = |word: &&str| {
            let digits = word.trim_start_matches(|c: char| c.is_ascii_lowercase());
            digits.len() < word.len() && digits.starts_with(|c: char| c.is_ascii_digit())
        };
        let types: Vec<&str> = words.filter(is_type).collect();
        match (word, types.as_slice()) {
            ("cvt", [.., to, from]) => Some(Self { from: FloatType::named(from)?, to: FloatType::named(to)? }),
            ("cvt", _) => None,
            (_, [only]) => FloatType::named(only).map(|only| Self { from: only, to: only }),
            _ => None,
        }
    }
}
