//! What `pixel_shuffle` and `pixel_unshuffle` share.

use crate::case::Case;
use crate::ops::Contract;
use crate::ops::support::moving::gather_map::TOO_LARGE;

/// The factor of the case, or the contract of one that is out of range.
pub fn factor(case: &Case) -> Result<usize, Contract> {
    match case.size("factor") {
        0 => Err(Contract::Rejects("a factor of 0")),
        factor if factor > 1 << 10 => Err(TOO_LARGE),
        factor => Ok(factor),
    }
}

/// The contract of sizes that the factor does not divide: rejected, unless there are no elements.
pub fn indivisible(x: &[usize], rule: &'static str) -> Contract {
    if x.contains(&0) { Contract::Unspecified("pixels of nothing") } else { Contract::Rejects(rule) }
}
