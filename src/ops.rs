//! What an op is: how to draw it, what is promised, how to call it, and its value in `f64`.

mod attention;
mod cache;
pub mod canary;
mod create;
mod encoding;
mod layer;
mod loss;
mod op;
mod optim;
mod random;
mod registry;
mod relation;
mod rotary;
pub mod sequence;
mod state;
mod support;
mod tensor;

pub use registry::ALL;
pub use relation::devices::{second, wants_second};
pub use support::call::{Call, plain};
pub use support::reference_inputs::ReferenceInputs;
pub use support::templates::{RUST_TEMPLATES, TORCH_TEMPLATES};

use ndarray::ArrayD;

use crate::case::Case;
use crate::device::Device;
use crate::generate::Draw;
use crate::number::Num;
use crate::tensor::{DType, Support};

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
    /// The call as candle code, for programs: a template (minijinja) of lines of which the last is the output, or that bind
    /// `output` or `outputs`, or print what nobody can compare. Inputs are owned tensors of their names, the device is
    /// `device`; params are the template's variables, and what else it has is in `src/report/program/templates.rs`.
    pub source: &'static str,
    /// The same call in PyTorch, for comparison: a template like `source`, of Python. Empty where PyTorch has no such call, or
    /// none that means the same.
    pub torch: &'static str,
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
pub type Reference = fn(&ReferenceInputs) -> Vec<ArrayD<Num>>;

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
    /// An output that takes seconds to make, and of which nobody promises anything: campaigns do not run it.
    pub const TOO_LARGE: &str = "an output too large to try";
    /// A wrong number of dimensions.
    pub const RANK: &str = "wrong number of dimensions";
    /// Shapes that do not fit each other.
    pub const SHAPES: &str = "shapes do not match";
}

impl Op {
    /// The dtype of `case` that [`Support`] is about, or of its first input; `None` where the case names none.
    pub fn dtype(&self, case: &Case) -> Option<DType> {
        let main = case.tensor(self.support.of).or_else(|| case.inputs.values().next());
        DType::named(case.text(self.support.of)).or_else(|| main.map(|tensor| tensor.dtype))
    }

    /// Whether candle lists the dtype of `case` for this op on `device`; of a sequence, every step's.
    pub fn supports(&self, case: &Case, device: Device) -> bool {
        let own = self.dtype(case).is_none_or(|dtype| self.support.on(device).contains(&dtype));
        own && sequence::placed(case).iter().all(|(op, step)| op.supports(step, device))
    }

    /// Whether `case` asks for the gradient of its input `name`, and there should be one: that is a float, and no label or mask.
    pub fn has_gradient(&self, case: &Case, name: &str) -> bool {
        let is_float = case.tensor(name).is_some_and(|tensor| tensor.dtype.is_float());
        is_float && !case.backward.is_none() && self.differentiates(case, name)
    }

    fn differentiates(&self, case: &Case, name: &str) -> bool {
        match sequence::split(name) {
            Some((number, name)) if !case.steps.is_empty() => {
                sequence::steps(case).get(number - 1).is_some_and(|(op, _)| op.differentiable.contains(&name))
            }
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
