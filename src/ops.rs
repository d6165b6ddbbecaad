//! The ops under test: how to draw a case, what its contract is, how to call candle, and what the result is in `f64`.

mod accept;
mod attention;
mod cache;
pub mod canary;
mod create;
mod custom;
mod encoding;
pub mod form;
mod invariants;
mod layer;
mod loss;
mod op;
mod optim;
pub mod own;
mod quantized;
mod random;
mod registry;
mod relation;
mod rotary;
pub mod rule;
pub mod sequence;
mod siblings;
mod state;
mod support;
mod tensor;
pub mod threads;
mod vast;

pub use accept::{accept, named};
pub use invariants::{Law, broken_shares, has_rivals, invariants};
pub use registry::ALL;
pub use rule::Rule;
pub use siblings::{Same, beside, sibling};
pub use support::call::{Call, case_dtype};
pub use support::devices::{Devices, opened_in_rust, second};
pub use support::other_device::{in_rust as other_device_in_rust, wants_other, wants_second};
pub use support::reference_inputs::ReferenceInputs;
pub use support::templates::{RUST_TEMPLATES, TORCH_TEMPLATES};

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use ndarray::ArrayD;

use crate::case::{Case, InputSpec, ParamSpec};
use crate::device::Device;
use crate::generate::Generate;
use crate::number::Num;
use crate::tensor::{DType, Support, Tensor, product};

/// One candle function, loss or layer under test. Every entry states every field: the compiler is the checklist.
pub struct Op {
    /// The name in cases: `loss.cross_entropy`.
    pub name: &'static str,
    /// The public functions of candle that the call exercises: `Tensor::gather`, `loss::nll`, `Linear`.
    pub covers: &'static [&'static str],
    /// The dtypes that candle lists for it, by device.
    pub support: &'static Support,
    /// The tensors that it takes, in the order of the call.
    pub inputs: &'static [InputSpec],
    /// Its other arguments, by name.
    pub params: &'static [ParamSpec],
    /// Draws a case. At least 95 % of the cases keep the contract.
    pub generate: Generate,
    /// The contract of a case. It, `call` and `reference` get complete cases; see [`Op::complete`].
    contract: &'static (dyn Fn(&Case) -> Contract + Sync),
    /// The call.
    call: &'static (dyn Fn(&Call) -> candle_core::Result<Vec<candle_core::Tensor>> + Sync),
    /// The call as candle code, for programs: a template (minijinja) of lines. The last line is the output, or the
    /// lines bind `output` or `outputs`, or they print an output that cannot be compared. Inputs are owned tensors of
    /// their names, the device is `device`, and params are variables of the template; `src/program/templates.rs`
    /// defines its other names.
    pub source: &'static str,
    /// The call in PyTorch, for comparison: a template of Python lines. Empty where PyTorch has no equivalent call; a
    /// comment above says why.
    pub torch: &'static str,
    /// The outputs in `f64` with error bounds, for cases that the contract accepts. `None` where there is no value to
    /// compare; a comment above says why.
    reference: Option<Reference>,
    /// How many times the running error bound an output may differ by.
    pub ulps: f64,
    /// The inputs that have a gradient if they are floats.
    pub differentiable: &'static [&'static str],
    /// Where the contract comes from: files and lines of candle 0.11.1, or documents.
    pub promise: &'static str,
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Op").field(&self.name).finish()
    }
}

/// The outputs of a case in `f64`, with error bounds.
pub type Reference = &'static (dyn Fn(&ReferenceInputs) -> Vec<ArrayD<Num>> + Sync);

/// What candle must do with a case, known before any device runs it.
#[derive(Debug, Clone, PartialEq)]
pub enum Contract {
    /// The call succeeds.
    Accepts {
        /// Dtype and shape of each output.
        outputs: Vec<(DType, Vec<usize>)>,
        /// The documented limitation that allows an `Err`, if there is one. A result must still be right.
        refusal: Option<&'static str>,
    },
    /// The call fails with an `Err` before any kernel runs, because it breaks this rule.
    Rejects(&'static Rule),
    /// The result is open. The call must still end, and devices and layouts agree whether they accept it.
    Unspecified(&'static str),
}

impl Contract {
    /// Rejects inputs of different dtypes, where `x` has elements: without them nothing is computed, and PyTorch converts or returns.
    pub fn mixed(x: &Tensor) -> Self {
        if x.elements() == Some(0) { Self::Unspecified(why::MIXED_NOTHING) } else { Self::Rejects(&rule::MIXED) }
    }

    /// Accepts with one output.
    pub fn accepts(dtype: DType, shape: &[usize]) -> Self {
        Self::Accepts { outputs: vec![(dtype, shape.to_vec())], refusal: None }
    }

    /// This contract, with an `Err` allowed for this reason if `limited`.
    #[must_use]
    pub fn may_refuse(self, limited: bool, why: &'static str) -> Self {
        match self {
            Self::Accepts { outputs, refusal: None } if limited => Self::Accepts { outputs, refusal: Some(why) },
            other => other,
        }
    }

    /// How many elements a call with this contract reads and, if it must succeed, returns: in all steps that are made several times at
    /// most.
    pub fn elements(&self, case: &Case) -> usize {
        let outputs = if let Self::Accepts { outputs, .. } = self { outputs.as_slice() } else { &[] };
        // Of a vast input a call reads no more than it returns.
        let read = case.inputs.values().filter(|tensor| !tensor.is_vast()).map(|tensor| &tensor.shape);
        let shapes = read.chain(outputs.iter().map(|(_, shape)| shape));
        let once = shapes.map(|shape| product(shape).unwrap_or(usize::MAX)).fold(0, usize::saturating_add);
        let again = case.times.others().map(|times| times.get() as usize - 1).sum::<usize>();
        once.saturating_mul(1 + again)
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

/// A call that reads and returns no more elements than this takes milliseconds, whatever the op. So if a larger one is late, it may
/// merely be slow.
pub const SMALL: usize = 1 << 14;

/// Reasons why a result is open or an `Err` allowed that several ops share, each with one wording.
pub mod why {
    /// candle fails with `RequiresContiguous` or an equivalent message.
    pub const CONTIGUOUS: &str = "candle requires contiguous inputs here";
    /// candle fails with `UnsupportedDTypeForOp` or a similar error.
    pub const DTYPE: &str = "candle does not list this dtype for the op";
    /// Numbers whose block has no scale, which is of half precision.
    pub const BEYOND_SCALES: &str = "numbers beyond the range of scales in half precision";
    /// Numbers to quantize that are larger than every level times every scale, or NaN, and blocks with an infinite scale or NaN: each
    /// device makes something else of them.
    pub const NO_SCALE: &str = "numbers that no scale in half precision reaches";
    /// Inputs of different dtypes without elements: nothing is computed.
    pub const MIXED_NOTHING: &str = "empty inputs of different dtypes";
    /// A function of floats of no integers: nothing is computed.
    pub const NO_INTEGERS: &str = "a float function of an empty tensor of integers";
    /// An unknown form, or what the types of candle's function cannot express. A hunt does not draw such a case.
    pub const NO_CALL: &str = "arguments that do not form a call";
    /// Integers beyond their dtype. Rust panics in a checked build and wraps in others, CUDA and PyTorch wrap.
    pub const OVERFLOW: &str = "integer overflow";
    /// Every element of the result overflows on the way, or infinities meet in an order that is open.
    pub const ORDER: &str = "every element overflows or is indeterminate";
    /// An output that takes seconds to compute, or a gradient or a reference that nobody can. Campaigns skip such cases.
    pub const TOO_LARGE: &str = "an output too large to run";
    /// candle lists the formats of its kernel.
    pub const FORMAT: &str = "formats without a kernel";
    /// candle's CUDA backend multiplies by a quantized matrix only in two or three dimensions.
    pub const FOUR_DIMENSIONS: &str = "four dimensions";
    /// A step that cannot be made on its own output, or whose integers each time decides.
    pub const NOT_AGAIN: &str = "a step made again that returns another dtype or shape than it takes, or integers";
    /// Integers that another step makes, and of which a rounding or the order of equal elements decides.
    pub const UNKNOWN_INTEGERS: &str = "integers that a rounding or an open order decides";
    /// Numbers whose squares overflow where a norm adds them up. PyTorch returns NaN for some of them.
    pub const HUGE: &str = "gradients of huge numbers";
    /// candle fails with "cannot use `slice_set` when self and src share their storage".
    pub const SHARED: &str = "the tensor that is written shares its buffer with one that is read";

    /// True if this reason allows an `Err` because a device lacks a kernel that another device may have.
    pub fn is_of_a_kernel(why: &str) -> bool {
        [DTYPE, FORMAT, FOUR_DIMENSIONS].contains(&why)
    }
}

/// A program may catch a panic of its call: the functions keep no state.
impl std::panic::RefUnwindSafe for Op {}

impl Op {
    /// `case` with the default of each param that it leaves out: what contracts, calls, templates and references get.
    pub fn complete<'a>(&self, case: &'a Case) -> Cow<'a, Case> {
        self.specs().complete(case)
    }

    /// The contract of `case`.
    pub fn contract(&self, case: &Case) -> Contract {
        if vast::calls_too_often(case) || vast::reads_too_many(self, case) {
            return Contract::Unspecified(why::TOO_LARGE);
        }
        vast::returning_few(self, case, (self.contract)(&self.complete(case)))
    }

    /// Calls candle with `tensors` as the inputs of `case`.
    pub fn call(
        &self,
        case: &Case,
        tensors: BTreeMap<&str, candle_core::Tensor>,
        devices: &Devices,
    ) -> candle_core::Result<Vec<candle_core::Tensor>> {
        (self.call)(&Call { case: &self.complete(case), tensors, device: devices.own(), devices })
    }

    /// The reference, if there is one.
    pub fn reference(&self) -> Option<impl Fn(&ReferenceInputs) -> Vec<ArrayD<Num>>> {
        let reference = self.reference?;
        Some(move |inputs: &ReferenceInputs| {
            reference(&ReferenceInputs { case: &self.complete(inputs.case), ..inputs.clone() })
        })
    }

    /// The dtype that [`Support::of`] names in `case`, or that of its first input; `None` without both.
    pub fn dtype(&self, case: &Case) -> Option<DType> {
        let main = case.tensor(self.support.of).or_else(|| case.inputs.values().next());
        DType::named(case.text(self.support.of)).or_else(|| main.map(|tensor| tensor.dtype))
    }

    /// Whether the op compares two calls of another op. That one's own cases cover what it refuses.
    pub fn is_relation(&self) -> bool {
        self.name.starts_with("relation.")
    }

    /// Whether candle lists the dtype of `case` for this op on `device`; for a sequence, the dtype of every step.
    pub fn supports(&self, case: &Case, device: Device) -> bool {
        let own = self.dtype(case).is_none_or(|dtype| self.support.on(device).contains(&dtype));
        own && sequence::placed(case).iter().all(|step| step.op.supports(&step.call, device))
    }

    /// Whether `case` asks for gradients and its input `name` has one: floats do, unless they are labels or masks, or lie in one
    /// buffer with another input, whose gradients would add up there.
    pub fn has_gradient(&self, case: &Case, name: &str) -> bool {
        let is_float = case.tensor(name).is_some_and(|tensor| tensor.dtype.is_float());
        is_float && !case.backward.is_none() && self.differentiates(case, name) && !case.is_shared(name)
    }

    fn differentiates(&self, case: &Case, name: &str) -> bool {
        match sequence::split(name) {
            Some((number, name)) if !case.steps.is_empty() => {
                sequence::steps(case).get(number - 1).is_some_and(|step| step.op.differentiable.contains(&name))
            }
            _ => self.differentiable.contains(&name),
        }
    }
}

/// The op of this name: one of [`ALL`], or [`form::FORM`], which no hunt draws, or one that the program has [defined](own::define).
pub fn find(name: &str) -> Option<&'static Op> {
    ALL.iter().copied().chain([&form::FORM]).find(|op| op.name == name).or_else(|| own::find(name))
}

/// The ops that this program is about: those that it brings, or else the catalog.
pub fn all() -> Vec<&'static Op> {
    own::brought().unwrap_or(ALL).to_vec()
}

/// The ops of [`ALL`] that `are` so.
fn all_that(are: impl Fn(&Op) -> bool) -> Vec<&'static Op> {
    ALL.iter().copied().filter(|op| are(op)).collect()
}

/// Whether `id` is the largest value of its dtype and outside the dimension. By design (candle PR #2940) such an id
/// reads zeros and writes nothing.
pub fn is_sentinel(id: i64, dtype: DType, size: usize) -> bool {
    dtype.int_range().is_some_and(|(_, max)| id == max) && !in_range(id, size)
}

/// Whether `id` is a position of a dimension of this size.
pub fn in_range(id: i64, size: usize) -> bool {
    usize::try_from(id).is_ok_and(|id| id < size)
}
