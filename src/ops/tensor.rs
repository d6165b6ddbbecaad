//! Ops `tensor.…`: methods of `Tensor`.

pub(super) mod argminmax;
pub(super) mod binary;
pub(super) mod compare;
pub(super) mod conv;
pub(super) mod conv_transpose;
pub(super) mod copies;
pub(super) mod indexing;
pub(super) mod join;
pub(super) mod matmul;
pub(super) mod pad;
pub(super) mod pool;
pub(super) mod rearrange;
pub(super) mod reduce;
pub(super) mod reshape;
pub(super) mod scalar;
pub(super) mod scatter;
pub(super) mod slice;
pub(super) mod slicing;
pub(super) mod sort;
pub(super) mod statistics;
pub(super) mod to_dtype;
pub(super) mod unary;
pub(super) mod unfold;
pub(super) mod upsample;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &argminmax::ARGMAX,
    &argminmax::ARGMIN,
    &argminmax::MAX,
    &argminmax::MIN,
    &binary::ADD,
    &binary::DIV,
    &binary::MAXIMUM,
    &binary::MINIMUM,
    &binary::MUL,
    &binary::POW,
    &binary::SUB,
    &compare::EQ,
    &compare::GE,
    &compare::GT,
    &compare::LE,
    &compare::LT,
    &compare::NE,
    &compare::WHERE_COND,
    &conv::CONV1D,
    &conv::CONV2D,
    &conv_transpose::CONV_TRANSPOSE1D,
    &conv_transpose::CONV_TRANSPOSE2D,
    &copies::CONST_SET,
    &copies::DETACH,
    &copies::LIKE,
    &copies::MIXED_DEVICES,
    &copies::TO_DEVICE,
    &copies::TO_VEC,
    &indexing::EMBEDDING,
    &indexing::GATHER,
    &indexing::INDEX_SELECT,
    &join::CAT,
    &join::REPEAT,
    &join::STACK,
    &matmul::BROADCAST_MATMUL,
    &matmul::MATMUL,
    &pad::PAD_WITH_SAME,
    &pad::PAD_WITH_ZEROS,
    &pad::REPLICATION_PAD2D,
    &pool::AVG_POOL2D,
    &pool::MAX_POOL2D,
    &rearrange::CONTIGUOUS,
    &rearrange::COPY,
    &rearrange::FLIP,
    &rearrange::FORCE_CONTIGUOUS,
    &rearrange::PERMUTE,
    &rearrange::ROLL,
    &rearrange::TRANSPOSE,
    &reduce::CUMSUM,
    &reduce::LOG_SUM_EXP,
    &reduce::MEAN,
    &reduce::NORM,
    &reduce::SUM,
    &reshape::BROADCAST_AS,
    &reshape::FLATTEN,
    &reshape::RESHAPE,
    &reshape::SQUEEZE,
    &scalar::ADD_SCALAR,
    &scalar::AFFINE,
    &scalar::CLAMP,
    &scalar::DIV_SCALAR,
    &scalar::ELU,
    &scalar::MUL_SCALAR,
    &scalar::POWF,
    &scalar::ROUND_TO,
    &scalar::SUB_SCALAR,
    &scatter::INDEX_ADD,
    &scatter::SCATTER,
    &scatter::SCATTER_ADD,
    &slice::EMBEDDING,
    &slice::SCATTER_ADD_SET,
    &slice::SCATTER_SET,
    &slice::SLICE_ASSIGN,
    &slice::SLICE_SCATTER,
    &slice::SLICE_SCATTER0,
    &slice::SLICE_SET,
    &slicing::CHUNK,
    &slicing::GET,
    &slicing::INDEX,
    &slicing::NARROW,
    &sort::ARG_SORT_LAST_DIM,
    &sort::SORT_LAST_DIM,
    &statistics::DOT,
    &statistics::MV,
    &statistics::VAR,
    &to_dtype::TO_DTYPE,
    &unary::ABS,
    &unary::CEIL,
    &unary::COS,
    &unary::ERF,
    &unary::EXP,
    &unary::FLOOR,
    &unary::GELU,
    &unary::GELU_ERF,
    &unary::LOG,
    &unary::NEG,
    &unary::RECIP,
    &unary::RELU,
    &unary::ROUND,
    &unary::SIGN,
    &unary::SILU,
    &unary::SIN,
    &unary::SQR,
    &unary::SQRT,
    &unary::TANH,
    &unfold::UNFOLD,
    &unfold::UNFOLD_SHAPE,
    &upsample::INTERPOLATE1D,
    &upsample::INTERPOLATE2D,
    &upsample::UPSAMPLE_BILINEAR2D,
    &upsample::UPSAMPLE_BILINEAR2D_WITH_SCALE,
];
