//! Ops `custom.…`: a caller's own ops, which candle runs and differentiates.

pub(super) mod apply_op;
pub(super) mod gradients;
pub(super) mod inplace_op;
pub(super) mod inplace_shared;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &apply_op::APPLY_OP,
    &apply_op::APPLY_OP_NO_BWD,
    &gradients::GRADIENTS,
    &inplace_op::INPLACE_OP,
    &inplace_shared::INPLACE_SHARED,
];
