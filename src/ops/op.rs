//! Ops `op.…`: functions of `candle_nn::ops`.

pub(super) mod activation;
pub(super) mod moe;
pub(super) mod norm;
pub(super) mod pixel_shuffle;
pub(super) mod replication_pad2d;
pub(super) mod softmax;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &activation::ACTIVATION,
    &activation::HARD_SIGMOID,
    &activation::LEAKY_RELU,
    &activation::MISH,
    &activation::PRELU,
    &activation::SELU,
    &activation::SEQUENTIAL,
    &activation::SIGMOID,
    &activation::SILU,
    &activation::SWIGLU,
    &moe::MOE,
    &norm::LAYER_NORM,
    &norm::LAYER_NORM_SLOW,
    &norm::RMS_NORM,
    &norm::RMS_NORM_SLOW,
    &pixel_shuffle::PIXEL_SHUFFLE,
    &pixel_shuffle::PIXEL_UNSHUFFLE,
    &replication_pad2d::REPLICATION_PAD2D,
    &softmax::LOG_SOFTMAX,
    &softmax::SOFTMAX,
    &softmax::SOFTMAX_LAST_DIM,
];
