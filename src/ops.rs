//! The registry of ops, and what an op is: how to draw it, what is promised, how to call it, and its value in `f64`.

mod call;
mod given;

pub use call::Call;
pub use given::Given;

use ndarray::ArrayD;

use crate::case::Case;
use crate::device::Device;
use crate::generate::Draw;
use crate::number::Num;
use crate::tensor::{DType, Support};

pub mod canary;
mod conv;
mod indexing;
mod linear;
mod loss_elementwise;
mod loss_labels;
mod norm;
mod attention;
mod attention_varlen;
mod conv_layers;
mod conv_transpose;
mod matmul;
mod moe;
mod optim;
mod pool;
mod recurrent;
mod training;
mod upsample;
mod activation;
mod binary;
mod cast;
mod compare;
mod copies;
mod create;
mod random;
mod scalar;
mod unary;
mod cache;
mod cache_rotating;
mod cache_scattered;
mod join;
mod moving;
mod pad;
mod part;
mod pixel;
mod rearrange;
mod relation;
mod reshape;
mod slice;
mod state;
mod unfold;
mod rules;
pub mod sequence;
mod softmax;
mod writing;

/// Every op, in the order in which `snuffer ops` lists them. A new op is one file and one line here.
pub static ALL: &[&Op] = &[
    &loss_labels::NLL,
    &loss_labels::CROSS_ENTROPY,
    &loss_elementwise::MSE,
    &loss_elementwise::BINARY_CROSS_ENTROPY_WITH_LOGIT,
    &loss_elementwise::HUBER,
    &indexing::EMBEDDING,
    &linear::LINEAR,
    &conv::CONV1D,
    &conv::CONV2D,
    &norm::LAYER_NORM,
    &norm::RMS_NORM,
    &softmax::SOFTMAX_LAST_DIM,
    &softmax::LOG_SOFTMAX,
    &indexing::GATHER,
    &indexing::INDEX_SELECT,
    &writing::INDEX_ADD,
    &writing::SCATTER,
    &writing::SCATTER_ADD,
    &matmul::MATMUL,
    &matmul::BROADCAST_MATMUL,
    &conv_layers::CONV1D,
    &conv_layers::CONV2D,
    &conv_layers::ABSORB_BN,
    &conv_transpose::CONV_TRANSPOSE1D,
    &conv_transpose::CONV_TRANSPOSE2D,
    &conv_layers::CONV_TRANSPOSE1D,
    &conv_layers::CONV_TRANSPOSE2D,
    &pool::AVG_POOL2D,
    &pool::MAX_POOL2D,
    &upsample::INTERPOLATE1D,
    &upsample::INTERPOLATE2D,
    &upsample::UPSAMPLE_BILINEAR2D,
    &upsample::UPSAMPLE_BILINEAR2D_WITH_SCALE,
    &recurrent::LSTM,
    &recurrent::GRU,
    &attention::FLASH_ATTN,
    &attention::DECODE_INTERLEAVED,
    &attention_varlen::VARLEN_CPU,
    &attention_varlen::VARLEN_UNFUSED,
    &moe::MOE,
    &optim::SGD_STEPS,
    &optim::ADAMW_STEPS,
    &training::TRAINING,
    &training::ACCUMULATION,
    &unary::NEG,
    &unary::SQR,
    &unary::RECIP,
    &unary::EXP,
    &unary::LOG,
    &unary::SIN,
    &unary::COS,
    &unary::TANH,
    &unary::SQRT,
    &unary::ABS,
    &unary::ERF,
    &unary::GELU,
    &unary::GELU_ERF,
    &unary::SILU,
    &unary::RELU,
    &unary::SIGN,
    &unary::CEIL,
    &unary::FLOOR,
    &unary::ROUND,
    &scalar::AFFINE,
    &scalar::ADD_SCALAR,
    &scalar::SUB_SCALAR,
    &scalar::MUL_SCALAR,
    &scalar::DIV_SCALAR,
    &scalar::POWF,
    &scalar::ELU,
    &scalar::CLAMP,
    &scalar::ROUND_TO,
    &binary::ADD,
    &binary::SUB,
    &binary::MUL,
    &binary::DIV,
    &binary::MAXIMUM,
    &binary::MINIMUM,
    &binary::POW,
    &compare::EQ,
    &compare::NE,
    &compare::LT,
    &compare::LE,
    &compare::GT,
    &compare::GE,
    &compare::WHERE_COND,
    &cast::TO_DTYPE,
    &activation::SIGMOID,
    &activation::SILU,
    &activation::HARD_SIGMOID,
    &activation::MISH,
    &activation::LEAKY_RELU,
    &activation::SELU,
    &activation::SWIGLU,
    &activation::ACTIVATION,
    &activation::PRELU,
    &activation::SEQUENTIAL,
    &create::ZEROS,
    &create::ONES,
    &create::FULL,
    &create::ARANGE,
    &create::EYE,
    &create::TRIL,
    &create::TRIU,
    &create::FROM_VALUES,
    &create::MESHGRID,
    &random::RAND,
    &random::RANDN,
    &random::INIT,
    &random::DROPOUT,
    &random::GUMBEL_SOFTMAX,
    &copies::COPY_OF,
    &copies::CONTIGUOUS,
    &copies::FORCE_CONTIGUOUS,
    &copies::TO_DEVICE,
    &copies::DETACH,
    &copies::TO_VEC,
    &copies::LIKE,
    &copies::CONST_SET,
    &copies::MIXED_DEVICES,
    &join::CAT,
    &join::STACK,
    &join::REPEAT,
    &pad::PAD_WITH_ZEROS,
    &pad::PAD_WITH_SAME,
    &pad::REPLICATION_PAD2D,
    &rearrange::PERMUTE,
    &rearrange::TRANSPOSE,
    &rearrange::FLIP,
    &rearrange::ROLL,
    &rearrange::CONTIGUOUS,
    &rearrange::FORCE_CONTIGUOUS,
    &rearrange::COPY,
    &reshape::RESHAPE,
    &reshape::FLATTEN,
    &reshape::SQUEEZE,
    &reshape::BROADCAST_AS,
    &part::NARROW,
    &part::CHUNK,
    &part::GET,
    &part::INDEX,
    &unfold::UNFOLD,
    &unfold::UNFOLD_SHAPE,
    &pixel::PIXEL_SHUFFLE,
    &pixel::PIXEL_UNSHUFFLE,
    &slice::SLICE_SET,
    &slice::SLICE_SCATTER,
    &slice::SLICE_SCATTER0,
    &slice::SLICE_ASSIGN,
    &slice::SCATTER_SET,
    &slice::SCATTER_ADD_SET,
    &slice::EMBEDDING,
    &cache::KV,
    &cache::CONCAT,
    &cache::INTERLEAVED,
    &cache::RAW_INTERLEAVED,
    &cache_rotating::ROTATING,
    &cache_rotating::ROTATING_KEPT,
    &cache_rotating::ROTATING_POSITIONS,
    &cache_scattered::SCATTERED,
    &cache_scattered::SCATTERED_MASK,
    &state::TWICE,
    &state::DIAMOND,
    &state::OWN_TRANSPOSE,
    &state::OWN_STORAGE,
    &state::VAR_SET,
    &state::DROPPED,
    &state::THREADS,
    &state::DETACH,
    &state::BACKWARD_AGAIN,
    &relation::SOFTMAX_SHIFTED,
    &relation::CROSS_ENTROPY_SHIFTED,
    &relation::SOFTMAX_FLIPPED,
    &relation::NLL_FLIPPED,
    &relation::CROSS_ENTROPY_FLIPPED,
    &relation::CONV1D_SPLIT,
    &relation::CONV2D_SPLIT,
    &relation::LINEAR_SPLIT,
    &relation::LAYER_NORM_SPLIT,
    &relation::MATMUL_LINEAR,
    &relation::CONV1D_SCALED,
    &relation::SUM_IN_TURN,
    &sequence::SEQUENCE,
    &canary::CANARY,
];

/// One candle function, loss or layer under test. There is no default: the compiler is the checklist.
#[derive(Debug)]
pub struct Op {
    /// The name in cases: `loss.cross_entropy`.
    pub name: &'static str,
    /// The public functions of candle that the call exercises: `Tensor::gather`, `loss::nll`, `Linear`.
    pub covers: &'static [&'static str],
    /// The dtypes that candle lists for it, by device.
    pub support: &'static Support,
    /// Draws a case that keeps the contract (at least 95 % of them do).
    pub generate: fn(&mut Draw) -> arbitrary::Result<Case>,
    /// What is promised for a case.
    pub contract: fn(&Case) -> Contract,
    /// The call.
    pub call: fn(&Call) -> candle_core::Result<Vec<candle_core::Tensor>>,
    /// The call as Rust text, for reproductions; inputs and params are variables of their names.
    pub source: &'static str,
    /// The outputs in `f64` with error bounds, for cases that the contract accepts. `None` where an op has no value to
    /// compare.
    pub reference: Option<Reference>,
    /// How many times the running error bound an output may be off by.
    pub ulps: f64,
    /// The inputs that have a gradient where they are floats.
    pub differentiable: &'static [&'static str],
    /// Where the contract comes from: files and lines of candle 0.11.1, or documents.
    pub promise: &'static str,
}

/// The outputs of a case in `f64`, with error bounds.
pub type Reference = fn(&Given) -> Vec<ArrayD<Num>>;

/// What is promised for a case, judged before any device is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Contract {
    /// The call succeeds.
    Accepts {
        /// Dtype and shape of each output.
        outputs: Vec<(DType, Vec<usize>)>,
        /// Why an `Err` would be no violation, where it would not: a documented limitation. What is returned must be
        /// right all the same.
        refusal: Option<&'static str>,
    },
    /// The call fails with an `Err`, before any kernel runs. The reason is the rule's fixed name: a signature holds it.
    Rejects(&'static str),
    /// Nobody promises anything but that the process and the device survive.
    Unspecified(&'static str),
}

impl Contract {
    /// Accepts with one output.
    pub fn accepts(dtype: DType, shape: &[usize]) -> Self {
        Self::Accepts { outputs: vec![(dtype, shape.to_vec())], refusal: None }
    }

    /// The same, with an `Err` allowed for this reason if `limited`.
    #[must_use]
    pub fn may_refuse(self, limited: bool, why: &'static str) -> Self {
        match self {
            Self::Accepts { outputs, refusal: None } if limited => Self::Accepts { outputs, refusal: Some(why) },
            other => other,
        }
    }

    /// The contract's name in counts.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Accepts { .. } => "accepts",
            Self::Rejects(_) => "rejects",
            Self::Unspecified(_) => "unspecified",
        }
    }
}

/// Reasons that several ops give, so that one reason has one wording.
pub mod why {
    /// candle's own error for it is `RequiresContiguous`, or says the same in words.
    pub const CONTIGUOUS: &str = "candle asks for contiguous inputs here";
    /// A dimension that the tensor does not have.
    pub const DIM: &str = "dim out of range";
    /// `candle_core::Error::UnsupportedDTypeForOp` and its kin.
    pub const DTYPE: &str = "candle does not list this dtype for the op";
    /// An id outside the dimension.
    pub const ID: &str = "id out of range";
    /// An id dtype that is none.
    pub const ID_DTYPE: &str = "ids are not integers";
    /// Inputs of different dtypes.
    pub const MIXED: &str = "inputs of different dtypes";
    /// A wrong number of dimensions.
    pub const RANK: &str = "wrong number of dimensions";
    /// Shapes that do not fit each other.
    pub const SHAPES: &str = "shapes do not match";
}

impl Op {
    /// The dtype of `case` that [`Support`] is about; `None` where the case names none.
    pub fn dtype(&self, case: &Case) -> Option<DType> {
        case.tensor(self.support.of).map(|tensor| tensor.dtype).or_else(|| DType::named(case.text(self.support.of)))
    }

    /// Whether candle lists the dtype of `case` for this op on `device`; of a sequence, every step's.
    pub fn supports(&self, case: &Case, device: Device) -> bool {
        let own = self.dtype(case).is_none_or(|dtype| self.support.on(device).contains(&dtype));
        own && sequence::placed(case).iter().all(|(op, step)| op.supports(step, device))
    }

    /// Whether the input `name` of `case` has a gradient where it is a float.
    pub fn differentiates(&self, case: &Case, name: &str) -> bool {
        match sequence::split(name) {
            Some((number, name)) if !case.steps.is_empty() => sequence::steps(case)
                .get(number - 1)
                .is_some_and(|(op, _)| op.differentiable.contains(&name)),
            _ => self.differentiable.contains(&name),
        }
    }
}

/// The op of this name.
pub fn find(name: &str) -> Option<&'static Op> {
    ALL.iter().copied().find(|op| op.name == name)
}

/// Where an id that equals its dtype's largest value lies outside the dimension: by design (candle PR #2940) such an id
/// reads zeros and writes nothing.
pub fn is_sentinel(id: i64, dtype: DType, size: usize) -> bool {
    dtype.int_range().is_some_and(|(_, max)| id == max) && !in_range(id, size)
}

/// Whether `id` is a position of a dimension of this size.
pub fn in_range(id: i64, size: usize) -> bool {
    usize::try_from(id).is_ok_and(|id| id < size)
}
