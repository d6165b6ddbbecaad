//! Ops `op.…`: functions of `candle_nn::ops`.

pub(super) mod activation;
pub(super) mod dropout;
pub(super) mod layer_norm;
pub(super) mod leaky_relu;
pub(super) mod log_softmax;
pub(super) mod moe_gemm;
pub(super) mod moe_gemm_on_cpu;
pub(super) mod pixel_shuffle;
pub(super) mod pixel_unshuffle;
pub(super) mod replication_pad2d;
pub(super) mod rms_norm;
pub(super) mod selu;
pub(super) mod softmax;
pub(super) mod swiglu;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &dropout::DROPOUT,
    &activation::HARD_SIGMOID,
    &layer_norm::LAYER_NORM,
    &layer_norm::LAYER_NORM_SLOW,
    &leaky_relu::LEAKY_RELU,
    &log_softmax::LOG_SOFTMAX,
    &activation::MISH,
    &moe_gemm::MOE_GEMM,
    &moe_gemm::MOE_GEMM_GGUF,
    &moe_gemm_on_cpu::MOE_GEMM_ON_CPU,
    &pixel_shuffle::PIXEL_SHUFFLE,
    &pixel_unshuffle::PIXEL_UNSHUFFLE,
    &replication_pad2d::REPLICATION_PAD2D,
    &rms_norm::RMS_NORM,
    &rms_norm::RMS_NORM_SLOW,
    &selu::SELU,
    &activation::SIGMOID,
    &activation::SILU,
    &softmax::SOFTMAX,
    &softmax::SOFTMAX_LAST_DIM,
    &swiglu::SWIGLU,
];
