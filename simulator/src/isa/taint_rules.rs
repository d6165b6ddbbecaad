//! What the checkers know about a form: how undefined bytes of its sources reach its result, and which arithmetic mistakes
//! it can make that are not faults.

use super::Two;
use crate::lanes::{Lanes, WARP};

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

/// The numbers that the bits of lanes are.
pub type Values = fn(&Lanes) -> [f64; WARP];

/// The mistake to look for in a form's arithmetic.
#[derive(Debug, Clone, Copy)]
pub enum ArithmeticCheck {
    /// Nothing.
    Nothing,
    /// An integer divisor of zero, of this many bytes.
    Divisor(u8),
    /// A conversion of a float to an integer that cannot hold it.
    Convert {
        /// The floats.
        values: Values,
        /// The least that the integer holds.
        least: f64,
        /// One more than the most.
        beyond: f64,
    },
    /// A sum that is fused with a product, and whose sign, or whether it is a number, depends on that.
    Fused(Apart),
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

/// A product and a sum as two instructions, of the sources of the fused one: the factors and the other term.
#[derive(Debug, Clone, Copy)]
pub struct Apart {
    /// The product.
    pub product: Two,
    /// The bit of the product that a negation changes, or 0.
    pub sign: u64,
    /// The sum.
    pub sum: Two,
    /// Which term of the sum the product is.
    pub term: usize,
    /// The numbers that the bits of a result are.
    pub values: Values,
}

impl Apart {
    /// The results of both instructions.
    pub fn results(&self, [a, b, other]: [&Lanes; 3]) -> Lanes {
        let (mut product, mut sum) = ([0; WARP], [0; WARP]);
        (self.product)(a, b, &mut product);
        for lane in &mut product {
            *lane ^= self.sign;
        }
        let terms = if self.term == 0 { [&product, other] } else { [other, &product] };
        (self.sum)(terms[0], terms[1], &mut sum);
        sum
    }
}

impl ArithmeticCheck {
    /// Whether there is something to look for even if no source is tainted.
    pub fn acts(self) -> bool {
        !matches!(self, Self::Nothing | Self::Extend | Self::Bound)
    }
}
