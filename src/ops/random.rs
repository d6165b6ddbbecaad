//! Ops `random.…`: random tensors and what draws them.

pub(super) mod distribution;
pub(super) mod gumbel_softmax;
pub(super) mod init;
pub(super) mod layer_init;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] =
    &[&gumbel_softmax::GUMBEL_SOFTMAX, &init::INIT, &layer_init::LAYER_INIT, &distribution::RAND, &distribution::RANDN];
