//! Ops `relation.…`: metamorphic relations between calls.

pub(super) mod devices;
pub(super) mod formulas;
pub(super) mod mixed_devices;
pub(super) mod training;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &devices::LINEAR_APART,
    &devices::LINEAR_THERE,
    &mixed_devices::MIXED_DEVICES,
    &devices::MIXED_LABELS,
    &formulas::CONV1D_SCALED,
    &formulas::CONV1D_SPLIT,
    &formulas::CONV2D_SPLIT,
    &formulas::CROSS_ENTROPY_FLIPPED,
    &formulas::CROSS_ENTROPY_SHIFTED,
    &formulas::LAYER_NORM_SPLIT,
    &formulas::LINEAR_SPLIT,
    &formulas::MATMUL_LINEAR,
    &formulas::NLL_FLIPPED,
    &formulas::SOFTMAX_FLIPPED,
    &formulas::SOFTMAX_SHIFTED,
    &formulas::SUM_IN_TURN,
    &training::ACCUMULATION,
    &training::TRAINING,
];
