//! Draws whole cases from random bytes: the N-th case of an op and a seed, or one from a fuzzer's bytes.

use std::hash::Hasher;

use arbitrary::Result;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use siphasher::sip::SipHasher13;

use super::draw::Draw;
use super::sharing::shared_buffer;
use super::violations::VIOLATIONS;
use crate::case::{Case, Repeat};
use crate::tensor::{DType, Tensor};

/// The kind of case to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A case that keeps the op's contract.
    Valid,
    /// A valid case with one or two labelled violations.
    Adversarial,
    /// A case that keeps the op's contract and has a large dimension, to see what it costs.
    Large,
}

impl Mode {
    /// The modes of an ordinary hunt.
    pub const ALL: [Self; 2] = [Self::Valid, Self::Adversarial];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Adversarial => "adversarial",
            Self::Large => "large",
        }
    }

    /// The mode of this name.
    pub fn find(name: &str) -> Option<Self> {
        [Self::Valid, Self::Adversarial, Self::Large].into_iter().find(|mode| mode.name() == name)
    }
}

/// A case, and its labelled violations.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// The case.
    pub case: Case,
    /// The labels of the violations; empty in valid mode.
    pub violations: Vec<&'static str>,
}

/// How an op draws a case that keeps its contract.
pub type Generate = &'static (dyn Fn(&mut Draw) -> Result<Case> + Sync);

/// How many random bytes a case is drawn from: more than any generator reads.
const BYTES: usize = 1 << 12;

/// One case in so many has two inputs in one buffer, if it has two that can be.
const SHARED: u32 = 24;

/// One valid case in so many repeats its call, if its inputs have few elements.
const REPEATED: u32 = 48;
/// The most elements of all inputs of a case that is repeated.
const FEW: usize = 256;

/// The `index`-th case of the op `name` under `seed`, in the given mode. It depends on nothing else, such as
/// which other ops exist.
pub fn sample(name: &str, generate: Generate, mode: Mode, seed: u64, index: u64) -> Drawn {
    drawn(name, generate, mode, &random(name, seed, index), None)
}

/// The random bytes of the `index`-th case of the op `name` under `seed`.
pub fn random(name: &str, seed: u64, index: u64) -> [u8; BYTES] {
    // A hash that does not change with the release of Rust: a seed always gives the same cases.
    let mut hasher = SipHasher13::new_with_keys(seed, index);
    hasher.write(name.as_bytes());
    let mut rng = Pcg64Mcg::seed_from_u64(hasher.finish());
    let mut bytes = [0; BYTES];
    rng.fill_bytes(&mut bytes);
    bytes
}

/// A case of the op `name` drawn from `bytes`, in `dtype` if there is one.
pub fn drawn(name: &str, generate: Generate, mode: Mode, bytes: &[u8], dtype: Option<DType>) -> Drawn {
    let drawn = try_draw(generate, mode, bytes, dtype);
    let mut drawn = drawn.unwrap_or_else(|_| Drawn { case: Case::default(), violations: Vec::new() });
    drawn.case.op = name.to_string();
    drawn
}

fn try_draw(generate: Generate, mode: Mode, bytes: &[u8], dtype: Option<DType>) -> Result<Drawn> {
    let draw = if mode == Mode::Large { Draw::of_large_size(bytes) } else { Draw::of_any_size(bytes)? };
    let mut draw = draw.of_dtype(dtype);
    let mut case = generate(&mut draw)?;
    let mut violations = Vec::new();
    if mode == Mode::Adversarial {
        let count = if draw.one_in(3)? { 2 } else { 1 };
        for _ in 0..8 {
            let violation = draw.choose(VIOLATIONS)?;
            if (violation.apply)(&mut case, &mut draw)? {
                violations.push(violation.name);
            }
            if violations.len() == count {
                break;
            }
        }
    }
    // Last, as the values that inputs share follow from each other.
    if draw.one_in(SHARED)? {
        shared_buffer(&mut case, &mut draw)?;
    }
    if mode == Mode::Valid && has_few_elements(&case) && case.call_count() == 1 && draw.one_in(REPEATED)? {
        case.repeat = Some(Repeat::LEAST);
    }
    Ok(Drawn { case, violations })
}

/// True if ten calls of a case take no longer than one ordinary call.
fn has_few_elements(case: &Case) -> bool {
    let elements = |tensor: &Tensor| tensor.elements().unwrap_or(usize::MAX);
    case.inputs.values().map(elements).fold(0, usize::saturating_add) <= FEW
}
