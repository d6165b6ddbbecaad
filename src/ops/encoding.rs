//! Ops `encoding.…`: `candle_nn::encoding`.

pub(super) mod one_hot;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[&one_hot::ONE_HOT];
