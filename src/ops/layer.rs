//! Ops `layer.…`: layers of `candle_nn`.

pub(super) mod activation;
pub(super) mod batch_norm;
pub(super) mod conv;
pub(super) mod conv2d_absorb_bn;
pub(super) mod conv_transpose;
pub(super) mod embedding;
pub(super) mod group_norm;
pub(super) mod gru;
pub(super) mod layer_norm;
pub(super) mod linear;
pub(super) mod lstm;
pub(super) mod parts;
pub(super) mod prelu;
pub(super) mod rms_norm;
pub(super) mod sequential;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &activation::ACTIVATION,
    &batch_norm::BATCH_NORM,
    &batch_norm::BATCH_NORM_TRAIN,
    &conv::CONV1D,
    &conv::CONV2D,
    &conv2d_absorb_bn::CONV2D_ABSORB_BN,
    &conv_transpose::CONV_TRANSPOSE1D,
    &conv_transpose::CONV_TRANSPOSE2D,
    &embedding::EMBEDDING,
    &group_norm::GROUP_NORM,
    &gru::GRU,
    &layer_norm::LAYER_NORM,
    &layer_norm::LAYER_NORM_NO_BIAS,
    &linear::LINEAR,
    &lstm::LSTM,
    &parts::PARTS,
    &prelu::PRELU,
    &rms_norm::RMS_NORM,
    &rms_norm::RMS_NORM_DIFF,
    &sequential::SEQUENTIAL,
];
