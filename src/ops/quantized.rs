//! Ops `quantized.…`: matrices in GGML's block formats.

pub(super) mod data;
pub(super) mod dequantize;
pub(super) mod embedding;
pub(super) mod indexed_moe_forward;
pub(super) mod matmul;
pub(super) mod matmul_in_threads;
pub(super) mod quantize;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &data::DATA,
    &dequantize::DEQUANTIZE,
    &embedding::EMBEDDING,
    &indexed_moe_forward::INDEXED_MOE_FORWARD,
    &matmul::MATMUL,
    &matmul_in_threads::MATMUL_IN_THREADS,
    &quantize::QUANTIZE,
];
