//! Ops `tensor.…`: methods of `Tensor`.

pub(super) mod affine;
pub(super) mod arg_sort_last_dim;
pub(super) mod argmax;
pub(super) mod argmin;
pub(super) mod avg_pool2d;
pub(super) mod binary;
pub(super) mod broadcast_as;
pub(super) mod broadcast_matmul;
pub(super) mod cat;
pub(super) mod chunk;
pub(super) mod clamp;
pub(super) mod compare;
pub(super) mod const_set;
pub(super) mod contiguous;
pub(super) mod conv;
pub(super) mod conv_transpose;
pub(super) mod copy;
pub(super) mod cumsum;
pub(super) mod detach;
pub(super) mod dim_from_end;
pub(super) mod dot;
pub(super) mod elu;
pub(super) mod embedding;
pub(super) mod file;
pub(super) mod flatten;
pub(super) mod flip;
pub(super) mod force_contiguous;
pub(super) mod gather;
pub(super) mod get;
pub(super) mod i;
pub(super) mod index_add;
pub(super) mod index_select;
pub(super) mod interpolate;
pub(super) mod log_sum_exp;
pub(super) mod matmul;
pub(super) mod max;
pub(super) mod max_pool2d;
pub(super) mod mean;
pub(super) mod meshgrid;
pub(super) mod metadata;
pub(super) mod min;
pub(super) mod mv;
pub(super) mod narrow;
pub(super) mod norm;
pub(super) mod pad;
pub(super) mod permute;
pub(super) mod pow;
pub(super) mod powf;
pub(super) mod repeat;
pub(super) mod reshape;
pub(super) mod roll;
pub(super) mod round_to;
pub(super) mod scalar;
pub(super) mod scatter;
pub(super) mod scatter_add;
pub(super) mod slice_assign;
pub(super) mod slice_scatter;
pub(super) mod slice_set;
pub(super) mod sort_last_dim;
pub(super) mod squeeze;
pub(super) mod stack;
pub(super) mod sum;
pub(super) mod to_device;
pub(super) mod to_dtype;
pub(super) mod to_vec;
pub(super) mod transpose;
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
    &broadcast_as::BROADCAST_AS,
    &broadcast_matmul::BROADCAST_MATMUL,
    &cat::CAT,
    &unary::CEIL,
    &chunk::CHUNK,
    &clamp::CLAMP,
    &const_set::CONST_SET,
    &contiguous::CONTIGUOUS,
    &conv::CONV1D,
    &conv::CONV2D,
    &conv_transpose::CONV_TRANSPOSE1D,
    &conv_transpose::CONV_TRANSPOSE2D,
    &copy::COPY,
    &unary::COS,
    &cumsum::CUMSUM,
    &detach::DETACH,
    &dim_from_end::DIM_FROM_END,
    &binary::DIV,
    &scalar::DIV_SCALAR,
    &dot::DOT,
    &elu::ELU,
    &embedding::EMBEDDING,
    &compare::EQ,
    &unary::ERF,
    &unary::EXP,
    &file::FILE,
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
    &metadata::METADATA,
    &min::MIN,
    &binary::MINIMUM,
    &binary::MUL,
    &scalar::MUL_SCALAR,
    &mv::MV,
    &narrow::NARROW,
    &compare::NE,
    &unary::NEG,
    &norm::NORM,
    &pad::PAD_WITH_SAME,
    &pad::PAD_WITH_ZEROS,
    &permute::PERMUTE,
    &pow::POW,
    &powf::POWF,
    &unary::RECIP,
    &unary::RELU,
    &repeat::REPEAT,
    &reshape::RESHAPE,
    &roll::ROLL,
    &unary::ROUND,
    &round_to::ROUND_TO,
    &scatter::SCATTER,
    &scatter_add::SCATTER_ADD,
    &scatter::SCATTER_ADD_SET,
    &scatter::SCATTER_SET,
    &unary::SIGN,
    &unary::SILU,
    &unary::SIN,
    &slice_assign::SLICE_ASSIGN,
    &slice_scatter::SLICE_SCATTER,
    &slice_scatter::SLICE_SCATTER0,
    &slice_set::SLICE_SET,
    &sort_last_dim::SORT_LAST_DIM,
    &unary::SQR,
    &unary::SQRT,
    &squeeze::SQUEEZE,
    &stack::STACK,
    &binary::SUB,
    &scalar::SUB_SCALAR,
    &sum::SUM,
    &unary::TANH,
    &to_device::TO_DEVICE,
    &to_dtype::TO_DTYPE,
    &to_vec::TO_VEC,
    &transpose::TRANSPOSE,
    &unfold::UNFOLD,
    &unfold::UNFOLD_SHAPE,
    &upsample_bilinear2d::UPSAMPLE_BILINEAR2D,
    &upsample_bilinear2d::UPSAMPLE_BILINEAR2D_WITH_SCALE,
    &var::VAR,
    &where_cond::WHERE_COND,
];
