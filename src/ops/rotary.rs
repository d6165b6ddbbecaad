//! Ops `rotary.…`: rotary embeddings of `candle_nn`.

pub(super) mod rope;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[&rope::ROPE, &rope::ROPE_I, &rope::ROPE_I_SLOW, &rope::ROPE_SLOW, &rope::ROPE_THD];
