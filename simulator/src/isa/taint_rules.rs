//! Checker facts about each form: how undefined source bits reach the result, and which arithmetic mistakes
//! it can make that are not faults.

use super::Two;
use crate::lanes::{Lanes, WARP};

/// How the bits of a result depend on those of the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaintRule {
    /// Every bit depends on every bit of every source.
    Whole,
    /// Every bit of a half depends on the same half of each source: two numbers of 16 bits in one register.
    Halves,
    /// Each bit depends on those bits of each source that are not above it: sums and products of integers.
    Upwards,
    /// The sources, of this many bytes, are different if one bit is: comparisons for equality.
    Equality(u8),
    /// Each bit depends on at most one bit of each source: moves, bit operations, shifts and permutations. Every bit depends on every bit
    /// of the sources that `controls` has a bit for.
    Bits {
        /// The sources that say which bit it is.
        controls: u8,
    },
    /// [`Self::Bits`] of one source, of which the result takes this many bytes.
    Part(u8),
    /// The first or the second source, as the third one says.
    Choose,
}

impl TaintRule {
    /// Moves and bit operations, in which no source is a control.
    pub const BITS: Self = Self::Bits { controls: 0 };
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
