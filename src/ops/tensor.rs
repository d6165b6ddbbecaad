//! Ops `tensor.…`: methods of `Tensor`.

pub(super) mod argminmax;
pub(super) mod binary;
pub(super) mod broadcast_as;
pub(super) mod cat;
pub(super) mod chunk;
pub(super) mod compare;
pub(super) mod contiguous;
pub(super) mod conv;
pub(super) mod conv_transpose;
pub(super) mod copies;
pub(super) mod copy;
pub(super) mod embedding;
pub(super) mod flatten;
pub(super) mod flip;
pub(super) mod force_contiguous;
pub(super) mod gather;
pub(super) mod get;
pub(super) mod i;
pub(super) mod index_add;
pub(super) mod index_select;
pub(super) mod matmul;
pub(super) mod narrow;
pub(super) mod pad;
pub(super) mod permute;
pub(super) mod pool;
pub(super) mod reduce;
pub(super) mod repeat;
pub(super) mod reshape;
pub(super) mod roll;
pub(super) mod scalar;
pub(super) mod scatter;
pub(super) mod slice_assign;
pub(super) mod slice_scatter;
pub(super) mod slice_set;
pub(super) mod sort;
pub(super) mod squeeze;
pub(super) mod stack;
pub(super) mod statistics;
pub(super) mod to_dtype;
pub(super) mod transpose;
pub(super) mod unary;
pub(super) mod unfold;
pub(super) mod upsample;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &copies::LIKE,
    &copies::MIXED_DEVICES,
    &unary::ABS,
    &binary::ADD,
    &scalar::ADD_SCALAR,
    &scalar::AFFINE,
    &sort::ARG_SORT_LAST_DIM,
    &argminmax::ARGMAX,
    &argminmax::ARGMIN,
    &pool::AVG_POOL2D,
    &broadcast_as::BROADCAST_AS,
    &matmul::BROADCAST_MATMUL,
    &cat::CAT,
    &unary::CEIL,
    &chunk::CHUNK,
    &scalar::CLAMP,
    &copies::CONST_SET,
    &contiguous::CONTIGUOUS,
    &conv::CONV1D,
    &conv::CONV2D,
    &conv_transpose::CONV_TRANSPOSE1D,
    &conv_transpose::CONV_TRANSPOSE2D,
    &copy::COPY,
    &unary::COS,
    &reduce::CUMSUM,
    &copies::DETACH,
    &binary::DIV,
    &scalar::DIV_SCALAR,
    &statistics::DOT,
    &scalar::ELU,
    &embedding::EMBEDDING,
    &compare::EQ,
    &unary::ERF,
    &unary::EXP,
    &flatten::FLATTEN,
    &flip::FLIP,
    &unary::FLOOR,
    &force_contiguous::FORCE_CONTIGUOUS,
    &gather::GATHER,
    &compare::GE,
    &unary::GELU,
    &unary::GELU_ERF,
    &get::GET,
    &compare::GT,
    &i::I,
    &index_add::INDEX_ADD,
    &index_select::INDEX_SELECT,
    &upsample::INTERPOLATE1D,
    &upsample::INTERPOLATE2D,
    &compare::LE,
    &unary::LOG,
    &reduce::LOG_SUM_EXP,
    &compare::LT,
    &matmul::MATMUL,
    &argminmax::MAX,
    &pool::MAX_POOL2D,
    &binary::MAXIMUM,
    &reduce::MEAN,
    &argminmax::MIN,
    &binary::MINIMUM,
    &binary::MUL,
    &scalar::MUL_SCALAR,
    &statistics::MV,
    &narrow::NARROW,
    &compare::NE,
    &unary::NEG,
    &reduce::NORM,
    &pad::PAD_WITH_SAME,
    &pad::PAD_WITH_ZEROS,
    &permute::PERMUTE,
    &binary::POW,
    &scalar::POWF,
    &unary::RECIP,
    &unary::RELU,
    &repeat::REPEAT,
    &reshape::RESHAPE,
    &roll::ROLL,
    &unary::ROUND,
    &scalar::ROUND_TO,
    &scatter::SCATTER,
    &scatter::SCATTER_ADD,
    &scatter::SCATTER_ADD_SET,
    &scatter::SCATTER_SET,
    &unary::SIGN,
    &unary::SILU,
    &unary::SIN,
    &slice_assign::SLICE_ASSIGN,
    &slice_scatter::SLICE_SCATTER,
    &slice_scatter::SLICE_SCATTER0,
    &slice_set::SLICE_SET,
    &sort::SORT_LAST_DIM,
    &unary::SQR,
    &unary::SQRT,
    &squeeze::SQUEEZE,
    &stack::STACK,
    &binary::SUB,
    &scalar::SUB_SCALAR,
    &reduce::SUM,
    &unary::TANH,
    &copies::TO_DEVICE,
    &to_dtype::TO_DTYPE,
    &copies::TO_VEC,
    &transpose::TRANSPOSE,
    &unfold::UNFOLD,
    &unfold::UNFOLD_SHAPE,
    &upsample::UPSAMPLE_BILINEAR2D,
    &upsample::UPSAMPLE_BILINEAR2D_WITH_SCALE,
    &statistics::VAR,
    &compare::WHERE_COND,
];
