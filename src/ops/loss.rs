//! Ops `loss.…`: losses of `candle_nn`.

pub(super) mod elementwise;
pub(super) mod labels;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &elementwise::BINARY_CROSS_ENTROPY_WITH_LOGIT,
    &elementwise::HUBER,
    &elementwise::MSE,
    &labels::CROSS_ENTROPY,
    &labels::NLL,
];
