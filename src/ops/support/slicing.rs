//! What the ops share that take a part of a tensor.

use crate::case::Case;
use crate::generate::Draw;
use crate::ops::Contract;
use crate::ops::support::gather_map::drawn_of;

/// Readers of an empty tensor panic where its view has an offset: `narrow` shows that, and the others need not.
pub const PART_OF_NOTHING: Contract = Contract::Unspecified("a part of nothing");

pub const OUTSIDE: &str = "a range outside the dimension";

pub fn drawn_nonempty(draw: &mut Draw, high: usize) -> arbitrary::Result<Case> {
    let shape: Vec<usize> = draw.shape(1, high)?.into_iter().map(|n| n.max(1)).collect();
    drawn_of(draw, &shape)
}
