//! Ops `relation.…`: metamorphic relations between calls.

pub(super) mod conv1d;
pub(super) mod conv2d_split;
pub(super) mod cross_entropy;
pub(super) mod gradient_accumulation;
pub(super) mod layer_norm_split;
pub(super) mod linear;
pub(super) mod matmul_linear;
pub(super) mod mixed_calls;
pub(super) mod mixed_devices;
pub(super) mod mixed_labels;
pub(super) mod nll_flipped;
pub(super) mod quantized_there;
pub(super) mod softmax;
pub(super) mod sum_in_turn;
pub(super) mod training_step;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &conv1d::CONV1D_SCALED,
    &conv1d::CONV1D_SPLIT,
    &conv2d_split::CONV2D_SPLIT,
    &cross_entropy::CROSS_ENTROPY_FLIPPED,
    &cross_entropy::CROSS_ENTROPY_SHIFTED,
    &gradient_accumulation::GRADIENT_ACCUMULATION,
    &layer_norm_split::LAYER_NORM_SPLIT,
    &linear::LINEAR_APART,
    &linear::LINEAR_SPLIT,
    &linear::LINEAR_THERE,
    &matmul_linear::MATMUL_LINEAR,
    &mixed_calls::MIXED_CALLS,
    &mixed_devices::MIXED_DEVICES,
    &mixed_labels::MIXED_LABELS,
    &nll_flipped::NLL_FLIPPED,
    &quantized_there::QUANTIZED_THERE,
    &softmax::SOFTMAX_FLIPPED,
    &softmax::SOFTMAX_SHIFTED,
    &sum_in_turn::SUM_IN_TURN,
    &training_step::TRAINING_STEP,
];
