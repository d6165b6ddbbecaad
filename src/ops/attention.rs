//! Ops `attention.…`: attention of `candle_nn`.

pub(super) mod causal_decode_f32_interleaved;
pub(super) mod flash_attn;
pub(super) mod flash_attn_varlen;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &causal_decode_f32_interleaved::CAUSAL_DECODE_F32_INTERLEAVED,
    &flash_attn::FLASH_ATTN,
    &flash_attn_varlen::FLASH_ATTN_VARLEN_CPU,
    &flash_attn_varlen::FLASH_ATTN_VARLEN_UNFUSED,
];

/// Those that run on the CPU wherever their inputs lie: the calls move them there.
const HOST: [&str; 3] =
    ["attention.causal_decode_f32_interleaved", "attention.flash_attn", "attention.flash_attn_varlen_cpu"];

impl Op {
    /// True if it runs on the CPU whatever the device of a case is.
    pub fn is_of_the_host(&self) -> bool {
        HOST.contains(&self.name)
    }
}
