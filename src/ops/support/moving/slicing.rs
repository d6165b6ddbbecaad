//! What ops that take a slice of a tensor share.

use crate::case::Case;
use crate::generate::Draw;
use crate::ops::Contract;
use crate::ops::support::moving::gather_map::draw_x_of;

/// Readers panic on an empty tensor whose view has an offset. `narrow` tests that, and the other ops skip it.
pub const EMPTY_SLICE: Contract = Contract::Unspecified("a slice without elements");

/// A case with an `x` of 1 to `high` dimensions that has elements.
pub fn draw_nonempty(draw: &mut Draw, high: usize) -> arbitrary::Result<Case> {
    let shape: Vec<usize> = draw.open_shape(1, high)?.into_iter().map(|n| n.max(1)).collect();
    draw_x_of(draw, &shape)
}
