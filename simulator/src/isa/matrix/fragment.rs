//! How a matrix is spread over the registers of a warp (PTX ISA 9.7.15.5.1 to 9.7.15.5.13).
//!
//! The ISA leaves open which lane holds what of a matrix of `wmma` (9.7.15.4.1). Here they are spread like those of `mma`, tile
//! by tile. Devices from compute capability 8.0 on were found to do the same with f16 and tf32 (`wmma_extension` by H. Ootomo,
//! `include/wmma_extension/detail/sm_80.hpp`), down to the registers that f16 has more than it needs: they repeat the others.

use crate::lanes::WARP;

/// The type of a matrix's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// IEEE binary16.
    F16,
    /// The upper half of an `f32`.
    Bf16,
    /// The upper 19 bits of an `f32`.
    Tf32,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// A float of 8 bits, 3 of them the fraction.
    E4m3,
    /// A float of 8 bits, 2 of them the fraction.
    E5m2,
    /// A signed integer of this width in bits.
    Signed(u8),
    /// An unsigned integer of this width in bits.
    Unsigned(u8),
}

impl Element {
    /// The element that a type's name means, such as `s8`.
    pub fn named(name: &str) -> Self {
        match name {
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "tf32" => Self::Tf32,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "e4m3" => Self::E4m3,
            "e5m2" => Self::E5m2,
            "s4" => Self::Signed(4),
            "s8" => Self::Signed(8),
            "s32" => Self::Signed(32),
            "u4" => Self::Unsigned(4),
            "u8" => Self::Unsigned(8),
            "b1" => Self::Unsigned(1),
            _ => panic!("no matrix has elements of type {name}"),
        }
    }

    /// How many bits it has.
    pub fn bits(self) -> usize {
        match self {
            Self::E4m3 | Self::E5m2 => 8,
            Self::F16 | Self::Bf16 => 16,
            Self::Tf32 | Self::F32 => 32,
            Self::F64 => 64,
            Self::Signed(bits) | Self::Unsigned(bits) => bits.into(),
        }
    }

    /// How many are in one register.
    pub fn per_register(self) -> usize {
        (32 / self.bits()).max(1)
    }
}

/// Which lane holds which elements.
#[derive(Debug, Clone, Copy)]
enum Spread {
    /// Lane `l` is number `l % 4` of group `l / 4`, and each group has a line of every eight. Its lanes have `run` adjacent
    /// elements each. Then come the same of the next eight lines (`lines_first`), or the next of the same line.
    Groups { run: u8, lines_first: bool },
    /// Four matrices, each on four lanes and the four that are 16 above: a line to a lane.
    QuadLines,
    /// The same with an element of four lines to a lane.
    QuadsAcross,
    /// The same with two pairs in each of two lines to a lane.
    QuadPairs,
}

/// A matrix in registers: of lines, which are the rows of `a` and of the accumulators, and the columns of `b`.
#[derive(Debug, Clone, Copy)]
pub struct MatrixFragment {
    /// Its elements.
    pub element: Element,
    pub(super) registers: u8,
    lines: u16,
    length: u16,
    spread: Spread,
}

impl MatrixFragment {
    /// The left factor of a product: `m` rows of `k`.
    pub fn a([m, _, k]: [usize; 3], element: Element) -> Self {
        Self::grouped(element, m, k, Spread::Groups { run: element.per_register() as u8, lines_first: true })
    }

    /// The right factor: `n` columns of `k`.
    pub fn b([_, n, k]: [usize; 3], element: Element) -> Self {
        Self::grouped(element, n, k, Spread::Groups { run: element.per_register() as u8, lines_first: false })
    }

    /// What is added, and the result: `m` rows of `n`.
    pub fn accumulator([m, n, _]: [usize; 3], element: Element) -> Self {
        Self::grouped(element, m, n, Spread::Groups { run: 2, lines_first: true })
    }

    fn grouped(element: Element, lines: usize, length: usize, spread: Spread) -> Self {
        let registers = (lines * length / WARP / element.per_register()) as u8;
        Self { element, registers, lines: lines as u16, length: length as u16, spread }
    }

    /// A factor of the four products of `mma.m8n8k4`. They are four blocks of the diagonal of one product of 32 lines each.
    /// `along`: `a` by rows, or `b` by columns.
    pub fn quad_factor(along: bool) -> Self {
        let spread = if along { Spread::QuadLines } else { Spread::QuadsAcross };
        Self { element: Element::F16, registers: 2, lines: 32, length: 4, spread }
    }

    /// What is added to these products, and the results.
    pub fn quad_accumulator(element: Element) -> Self {
        let spread = if element == Element::F32 { Spread::QuadPairs } else { Spread::QuadLines };
        Self { element, registers: 8 / element.per_register() as u8, lines: 32, length: 32, spread }
    }

    /// How many registers of each lane it is in.
    pub fn registers(&self) -> usize {
        self.registers.into()
    }

    /// How many lines it has.
    pub fn lines(&self) -> usize {
        self.lines.into()
    }

    /// Elements of a line.
    pub fn length(&self) -> usize {
        self.length.into()
    }

    /// The elements in the registers of one lane.
    pub fn elements(&self) -> usize {
        self.registers() * self.element.per_register()
    }

    /// The register of a lane's element `index`, and its lowest bit there.
    pub fn position(&self, index: usize) -> (usize, usize) {
        let each = self.element.per_register();
        (index / each, index % each * self.element.bits())
    }

    /// The line of a lane's first element, and the place in the line.
    pub fn of_lane(&self, lane: usize) -> (usize, usize) {
        // The first line of the block that these lanes have, and of their half of it. The results are on the diagonal.
        let block = lane / 4 % 4 * 8;
        let half = block + lane / 16 * 4;
        let across = if self.length == self.lines { block } else { 0 };
        match self.spread {
            Spread::Groups { run, .. } => (lane / 4, lane % 4 * usize::from(run)),
            Spread::QuadLines => (half + lane % 4, across),
            Spread::QuadsAcross => (half, lane % 4),
            Spread::QuadPairs => (half + (lane & 1), across + (lane & 2)),
        }
    }

    /// How many lines, and places, from any lane's first element its element `index` is.
    pub fn of_index(&self, index: usize) -> (usize, usize) {
        match self.spread {
            Spread::Groups { run, lines_first } => {
                let run = usize::from(run);
                let (line_count, span_count) = (self.lines() / 8, self.length() / (4 * run));
                let chunk = index / run % (line_count * span_count);
                let (eight, span) = if lines_first {
                    (chunk % line_count, chunk / line_count)
                } else {
                    (chunk / span_count, chunk % span_count)
                };
                (8 * eight, 4 * span * run + index % run)
            }
            Spread::QuadLines => (0, index),
            Spread::QuadsAcross => (index, 0),
            Spread::QuadPairs => (index & 2, (index & 4) + (index & 1)),
        }
    }
}
