//! Ops `cache.…`: key-value caches of `candle_nn`.

pub(super) mod concat;
pub(super) mod interleaved;
pub(super) mod kv;
pub(super) mod raw_interleaved;
pub(super) mod rotating;
pub(super) mod scattered;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &concat::CONCAT,
    &interleaved::INTERLEAVED,
    &kv::KV,
    &raw_interleaved::RAW_INTERLEAVED,
    &rotating::ROTATING,
    &rotating::ROTATING_KEPT,
    &rotating::ROTATING_MASK,
    &rotating::ROTATING_POSITIONS,
    &scattered::SCATTERED,
    &scattered::SCATTERED_MASK,
];
