//! Ops `create.…`: creation of tensors.

pub(super) mod filled;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &filled::ARANGE,
    &filled::EYE,
    &filled::FROM_VALUES,
    &filled::FULL,
    &filled::MESHGRID,
    &filled::ONES,
    &filled::TRIL,
    &filled::TRIU,
    &filled::ZEROS,
];
