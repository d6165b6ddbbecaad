//! Ops `layer.…`: layers of `candle_nn`.

pub(super) mod batch_norm;
pub(super) mod conv;
pub(super) mod embedding;
pub(super) mod linear;
pub(super) mod norm;
pub(super) mod recurrent;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &batch_norm::EVAL,
    &batch_norm::TRAIN,
    &conv::ABSORB_BN,
    &conv::CONV1D,
    &conv::CONV2D,
    &conv::CONV_TRANSPOSE1D,
    &conv::CONV_TRANSPOSE2D,
    &embedding::EMBEDDING,
    &linear::LINEAR,
    &norm::GROUP_NORM,
    &norm::LAYER_NORM,
    &norm::LAYER_NORM_NO_BIAS,
    &norm::RMS_NORM,
    &norm::RMS_NORM_DIFF,
    &recurrent::GRU,
    &recurrent::LSTM,
];
