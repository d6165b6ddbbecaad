//! Ops `loss.…`: losses of `candle_nn`.

pub(super) mod binary_cross_entropy_with_logit;
pub(super) mod cross_entropy;
pub(super) mod huber;
pub(super) mod mse;
pub(super) mod nll;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &binary_cross_entropy_with_logit::BINARY_CROSS_ENTROPY_WITH_LOGIT,
    &cross_entropy::CROSS_ENTROPY,
    &huber::HUBER,
    &mse::MSE,
    &nll::NLL,
];
