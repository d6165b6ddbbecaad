//! Ops `tensor.…`: methods of `Tensor`.

pub(super) mod affine;
pub(super) mod arg_sort_last_dim;
pub(super) mod argmax;
pub(super) mod argmin;
pub(super) mod avg_pool2d;
pub(super) mod binary;
pub(super) mod broadcast_matmul;
pub(super) mod clamp;
pub(super) mod compare;
pub(super) mod const_set;
pub(super) mod conv;
pub(super) mod conv_transpose;
pub(super) mod cumsum;
pub(super) mod detach;
pub(super) mod dot;
pub(super) mod elu;
pub(super) mod indexing;
pub(super) mod interpolate;
pub(super) mod join;
pub(super) mod log_sum_exp;
pub(super) mod matmul;
pub(super) mod max;
pub(super) mod max_pool2d;
pub(super) mod mean;
pub(super) mod meshgrid;
pub(super) mod min;
pub(super) mod mv;
pub(super) mod norm;
pub(super) mod pad;
pub(super) mod pow;
pub(super) mod powf;
pub(super) mod rearrange;
pub(super) mod reshape;
pub(super) mod round_to;
pub(super) mod scalar;
pub(super) mod scatter;
pub(super) mod slice;
pub(super) mod slicing;
pub(super) mod sort_last_dim;
pub(super) mod sum;
pub(super) mod to_device;
pub(super) mod to_dtype;
pub(super) mod to_vec;
pub(super) mod unary;
pub(super) mod unfold;
pub(super) mod upsample_bilinear2d;
pub(super) mod var;
pub(super) mod where_cond;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &unary::ABS,
    &binary::ADD,
    &scalar::ADD_SCALAR,
    &affine::AFFINE,
    &arg_sort_last_dim::ARG_SORT_LAST_DIM,
    &argmax::ARGMAX,
    &argmin::ARGMIN,
    &avg_pool2d::AVG_POOL2D,
    &reshape::BROADCAST_AS,
    &broadcast_matmul::BROADCAST_MATMUL,
    &join::CAT,
    &unary::CEIL,
    &slicing::CHUNK,
    &clamp::CLAMP,
    &const_set::CONST_SET,
    &rearrange::CONTIGUOUS,
    &conv::CONV1D,
    &conv::CONV2D,
    &conv_transpose::CONV_TRANSPOSE1D,
    &conv_transpose::CONV_TRANSPOSE2D,
    &rearrange::COPY,
    &unary::COS,
    &cumsum::CUMSUM,
    &detach::DETACH,
    &binary::DIV,
    &scalar::DIV_SCALAR,
    &dot::DOT,
    &elu::ELU,
    &indexing::EMBEDDING,
    &slice::EMBEDDING,
    &compare::EQ,
    &unary::ERF,
    &unary::EXP,
    &reshape::FLATTEN,
    &rearrange::FLIP,
    &unary::FLOOR,
    &rearrange::FORCE_CONTIGUOUS,
    &indexing::GATHER,
    &compare::GE,
    &unary::GELU,
    &unary::GELU_ERF,
    &slicing::GET,
    &compare::GT,
    &slicing::INDEX,
    &scatter::INDEX_ADD,
    &indexing::INDEX_SELECT,
    &interpolate::INTERPOLATE1D,
    &interpolate::INTERPOLATE2D,
    &compare::LE,
    &unary::LOG,
    &log_sum_exp::LOG_SUM_EXP,
    &compare::LT,
    &matmul::MATMUL,
    &max::MAX,
    &max_pool2d::MAX_POOL2D,
    &binary::MAXIMUM,
    &mean::MEAN,
    &meshgrid::MESHGRID,
    &min::MIN,
    &binary::MINIMUM,
    &binary::MUL,
    &scalar::MUL_SCALAR,
    &mv::MV,
    &slicing::NARROW,
    &compare::NE,
    &unary::NEG,
    &norm::NORM,
    &pad::PAD_WITH_SAME,
    &pad::PAD_WITH_ZEROS,
    &rearrange::PERMUTE,
    &pow::POW,
    &powf::POWF,
    &unary::RECIP,
    &unary::RELU,
    &join::REPEAT,
    &pad::REPLICATION_PAD2D,
    &reshape::RESHAPE,
    &rearrange::ROLL,
    &unary::ROUND,
    &round_to::ROUND_TO,
    &scatter::SCATTER,
    &scatter::SCATTER_ADD,
    &slice::SCATTER_ADD_SET,
    &slice::SCATTER_SET,
    &unary::SIGN,
    &unary::SILU,
    &unary::SIN,
    &slice::SLICE_ASSIGN,
    &slice::SLICE_SCATTER,
    &slice::SLICE_SCATTER0,
    &slice::SLICE_SET,
    &sort_last_dim::SORT_LAST_DIM,
    &unary::SQR,
    &unary::SQRT,
    &reshape::SQUEEZE,
    &join::STACK,
    &binary::SUB,
    &scalar::SUB_SCALAR,
    &sum::SUM,
    &unary::TANH,
    &to_device::TO_DEVICE,
    &to_dtype::TO_DTYPE,
    &to_vec::TO_VEC,
    &rearrange::TRANSPOSE,
    &unfold::UNFOLD,
    &unfold::UNFOLD_SHAPE,
    &upsample_bilinear2d::UPSAMPLE_BILINEAR2D,
    &upsample_bilinear2d::UPSAMPLE_BILINEAR2D_WITH_SCALE,
    &var::VAR,
    &where_cond::WHERE_COND,
];
