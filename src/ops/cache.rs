//! Ops `cache.…`: key-value caches of `candle_nn`.

pub(super) mod kv;
pub(super) mod rotating;
pub(super) mod scattered;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &kv::CONCAT,
    &kv::INTERLEAVED,
    &kv::KV,
    &kv::RAW_INTERLEAVED,
    &rotating::ROTATING,
    &rotating::ROTATING_KEPT,
    &rotating::ROTATING_POSITIONS,
    &scattered::SCATTERED,
    &scattered::SCATTERED_MASK,
];
