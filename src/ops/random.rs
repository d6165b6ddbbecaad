//! Ops `random.…`: random tensors and what draws them.

pub(super) mod random;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] =
    &[&random::DROPOUT, &random::GUMBEL_SOFTMAX, &random::INIT, &random::RAND, &random::RANDN];
