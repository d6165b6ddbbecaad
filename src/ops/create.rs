//! Ops `create.…`: creation of tensors.

pub(super) mod arange;
pub(super) mod filled;
pub(super) mod from_raw_buffer;
pub(super) mod from_values;
pub(super) mod full;
pub(super) mod like;
pub(super) mod var;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &arange::ARANGE,
    &filled::EYE,
    &from_raw_buffer::FROM_RAW_BUFFER,
    &from_values::FROM_VALUES,
    &full::FULL,
    &like::LIKE,
    &filled::ONES,
    &filled::TRIL,
    &filled::TRIU,
    &var::VAR,
    &filled::ZEROS,
];
