//! Draws whole cases of registered ops: by campaign index, as a proptest strategy, and from fuzzer bytes.

use arbitrary::{Arbitrary, Unstructured};
use proptest::strategy::{Just, Strategy};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::case::Case;
use crate::generate::{Drawn, Mode, draw};
use crate::ops::{self, Op};
use crate::tensor::DType;

/// How many random bytes a case is drawn from: more than any generator reads.
const BYTES: usize = 1 << 12;

/// A drawn case and where it came from.
#[derive(Debug)]
pub struct Sample {
    /// The op.
    pub op: &'static Op,
    /// The mode.
    pub mode: Mode,
    /// The case and its labelled violations.
    pub drawn: Drawn,
}

/// The `index`-th case of the campaign with this `seed`: ops in turn, modes in turn.
pub fn nth(ops: &[&'static Op], modes: &[Mode], seed: u64, index: u64) -> Sample {
    let turn = index as usize;
    let (op, mode) = (ops[turn % ops.len()], modes[turn / ops.len() % modes.len()]);
    Sample { op, mode, drawn: of(op, mode, &random(seed, index), None) }
}

/// The `index`-th valid case of `op` in `dtype`.
pub fn nth_of_dtype(op: &Op, dtype: DType, index: u64) -> Case {
    of(op, Mode::Valid, &random(0, index), Some(dtype)).case
}

/// What the `index`-th case of the campaign with this `seed` is drawn from.
pub fn random(seed: u64, index: u64) -> [u8; BYTES] {
    // Any odd multiplier keeps neighbouring indices apart in the generator's state.
    let mut rng = Pcg64Mcg::seed_from_u64(seed.rotate_left(32) ^ index.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut bytes = [0; BYTES];
    rng.fill_bytes(&mut bytes);
    bytes
}

/// A case of `op` drawn from `bytes`, of the `wanted` dtype if there is one.
pub fn of(op: &Op, mode: Mode, bytes: &[u8], wanted: Option<DType>) -> Drawn {
    let drawn = draw(op.generate, mode, bytes, wanted);
    let mut drawn = drawn.unwrap_or_else(|_| Drawn { case: Case::default(), violations: Vec::new() });
    drawn.case.op = op.name.to_string();
    drawn
}

/// The cases of `op` as a proptest strategy. A failing case is minimized by `snuffer minimize`, which knows tensors;
/// proptest's own shrinking of the random bytes would only scramble it.
pub fn strategy(op: &'static Op, mode: Mode) -> impl Strategy<Value = Drawn> {
    proptest::arbitrary::any::<u64>().prop_flat_map(move |seed| Just(nth(&[op], &[mode], seed, 0).drawn)).no_shrink()
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(bytes: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let op = bytes.choose(ops::ALL)?;
        let mode = *bytes.choose(&Mode::ALL)?;
        let rest = bytes.bytes(bytes.len())?;
        Ok(of(op, mode, rest, None).case)
    }
}
