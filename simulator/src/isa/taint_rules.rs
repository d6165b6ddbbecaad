//! What the checkers know about a form: how undefined bytes of its sources reach its result, and which arithmetic mistakes
//! it can make that are not faults. Read from the form's name when a kernel is decoded.

/// How the bytes of a result depend on those of the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaintRule {
    /// Every byte depends on every byte of every source.
    Whole,
    /// Each byte depends on the same byte of each source: moves and most bit operations.
    Bytes(u8),
    /// [`Self::Bytes`], but a byte of zeros decides the result.
    And(u8),
    /// [`Self::Bytes`], but a byte of ones decides the result.
    Or(u8),
    /// The bytes of the source that the third one chooses.
    Choose(u8),
    /// The second source above the first, each of this many bytes.
    Pack(u8),
    /// This many bytes of the source, from a byte on: (from, bytes).
    Unpack(u8, u8),
    /// The bytes of the first source, shifted up by the second one's bits.
    Left(u8),
    /// The bytes of the first source, shifted down by the second one's bits.
    Right(u8),
    /// Four bytes of the first two sources, which the third one chooses (`prmt`).
    Permute,
}

/// The mistake to look for in a form's arithmetic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ArithmeticCheck {
    /// Nothing.
    Nothing,
    /// An integer divisor of zero, of this many bits.
    Divisor(u8),
    /// A float that is NaN, below the integer's least value, or not below the third field.
    Convert(Real, f64, f64),
    /// A product, with a third source as addend, that does not fit 32 bits.
    Product,
    /// A sum that does not fit 32 bits.
    Sum,
    /// A shift to the left that loses bits of 32.
    Shift,
    /// Sign extension of 32 bits: a number that wrapped as a signed one is wrong from here on.
    Extend,
    /// A result that is in range for all sources: it clears earlier mistakes.
    Bound,
}

/// The format of a float in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Real {
    /// Half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl TaintRule {
    /// The rule of the form of this name.
    pub fn of(name: &str) -> Self {
        let (base, rest) = name.split_once('.').unwrap_or((name, ""));
        let bytes = bytes_of(rest.rsplit('.').next().unwrap_or(rest));
        match base {
            "mov" | "not" | "xor" | "cvta" => Self::Bytes(bytes),
            "and" => Self::And(bytes),
            "or" => Self::Or(bytes),
            "selp" => Self::Choose(bytes),
            "shl" => Self::Left(bytes),
            "shr" => Self::Right(bytes),
            "prmt" => Self::Permute,
            "cvt" => match rest.split('.').collect::<Vec<_>>()[..] {
                // Upper bytes from a sign extension depend on the lower ones.
                [to, from] if is_integer(to) && is_integer(from) => Self::Unpack(0, bytes_of(to).min(bytes_of(from))),
                _ => Self::Whole,
            },
            _ => Self::Whole,
        }
    }
}

impl ArithmeticCheck {
    /// Whether there is something to look for even if no source is tainted.
    pub fn acts(self) -> bool {
        !matches!(self, Self::Nothing | Self::Extend | Self::Bound)
    }

    /// The check of the form of this name.
    pub fn of(name: &str) -> Self {
        let parts: Vec<&str> = name.split('.').collect();
        match parts[..] {
            ["div" | "rem", kind] if is_integer(kind) => Self::Divisor(8 * bytes_of(kind)),
            ["mul" | "mad", "lo", "s32" | "u32"] => Self::Product,
            ["add", "s32" | "u32"] => Self::Sum,
            ["shl", "b32"] => Self::Shift,
            ["cvt", "s64", "s32"] | ["mul" | "mad", "wide", "s32"] => Self::Extend,
            ["and" | "rem" | "min" | "max" | "shr" | "bfe", ..] => Self::Bound,
            ["cvt", "rzi" | "rni" | "rmi" | "rpi", to, from] if is_integer(to) => match from {
                "f16" => Self::convert(to, Real::F16),
                "bf16" => Self::convert(to, Real::Bf16),
                "f32" => Self::convert(to, Real::F32),
                "f64" => Self::convert(to, Real::F64),
                _ => Self::Nothing,
            },
            _ => Self::Nothing,
        }
    }

    fn convert(to: &str, from: Real) -> Self {
        let bits = i32::from(8 * bytes_of(to));
        if to.starts_with('s') {
            return Self::Convert(from, -2f64.powi(bits - 1), 2f64.powi(bits - 1));
        }
        Self::Convert(from, 0.0, 2f64.powi(bits))
    }
}

fn is_integer(kind: &str) -> bool {
    matches!(kind, "u8" | "u16" | "u32" | "u64" | "s8" | "s16" | "s32" | "s64")
}

/// The bytes of a type's values, by its name.
fn bytes_of(kind: &str) -> u8 {
    match kind.trim_start_matches(char::is_alphabetic) {
        "8" => 1,
        "16" => 2,
        "32" | "16x2" => 4,
        "64" => 8,
        // A predicate.
        _ => 1,
    }
}
