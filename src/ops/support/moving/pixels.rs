//! What `pixel_shuffle` and `pixel_unshuffle` share.

use crate::case::Case;
use crate::ops::support::moving::gather_map::TOO_LARGE;
use crate::ops::{Contract, rule};

/// The factor of the case, or the contract of one that is out of range.
pub fn factor(case: &Case) -> Result<usize, Contract> {
    match case.size("factor") {
        0 => Err(Contract::Rejects(&rule::ZERO_FACTOR)),
        factor if factor > 1 << 10 => Err(TOO_LARGE),
        factor => Ok(factor),
    }
}
