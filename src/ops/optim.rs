//! Ops `optim.…`: optimizers of `candle_nn`.

pub(super) mod optimizers;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[&optimizers::ADAMW_STEPS, &optimizers::SGD_STEPS];
