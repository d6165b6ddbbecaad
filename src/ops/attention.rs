//! Ops `attention.…`: attention of `candle_nn`.

pub(super) mod flash;
pub(super) mod varlen;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] =
    &[&flash::DECODE_INTERLEAVED, &flash::FLASH_ATTN, &varlen::VARLEN_CPU, &varlen::VARLEN_UNFUSED];
