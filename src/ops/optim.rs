//! Ops `optim.…`: optimizers of `candle_nn`.

pub(super) mod adamw;
pub(super) mod sgd;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[&adamw::ADAMW_STEPS, &sgd::SGD_STEPS];
