//! Ops that a program defines for itself, beside the catalog: its own losses, layers and kernels.

mod batch;
mod definition;
mod shape;
mod training;

use std::sync::{OnceLock, PoisonError, RwLock};

use candle_core::Result;

pub use batch::Sample;
pub use definition::{Definition, IntoOutputs, define};

use super::{Call, Op};
use crate::case::{Backward, Case};
use crate::tensor::{DType, Tensor};

/// The ops that this process has defined. Of two with the same name the last one counts.
static DEFINED: RwLock<Vec<(&Definition, &Op)>> = RwLock::new(Vec::new());

/// The ops that the command line of this program is about, in place of the catalog.
static BROUGHT: OnceLock<Vec<&Op>> = OnceLock::new();

/// The end of the name of an op that is the reference of another one.
const REFERENCE: &str = ".reference";
/// The end of the name of an op that trains another one.
const TRAINING: &str = ".training";

/// A call of candle.
type Function = dyn Fn(&Call) -> Result<Vec<candle_core::Tensor>> + Sync;

/// Adds an op to those of this process.
fn add(definition: &'static Definition, op: &'static Op) {
    DEFINED.write().unwrap_or_else(PoisonError::into_inner).push((definition, op));
}

/// Makes the command line of this process one for `ops`. Only the first call counts.
pub fn bring(ops: &[&'static Op]) {
    BROUGHT.get_or_init(|| ops.to_vec());
}

/// The ops that this program brings to the command line.
pub fn brought() -> Option<&'static [&'static Op]> {
    BROUGHT.get().map(Vec::as_slice)
}

/// The op of this name that this process has defined.
pub fn find(name: &str) -> Option<&'static Op> {
    defined(name).map(|(_, op)| op)
}

fn defined(name: &str) -> Option<(&'static Definition, &'static Op)> {
    DEFINED.read().unwrap_or_else(PoisonError::into_inner).iter().rev().copied().find(|(_, op)| op.name == name)
}

/// The path of the function in which the call of an op was defined, without its crate: `tests::focal_loss`.
pub fn function(name: &str) -> &'static str {
    let path = defined(name).map_or("", |(definition, _)| definition.function);
    path.split_once("::").map_or(path, |(_, inside)| inside)
}

/// True if the definition allows the dtypes of this call and its other arguments. Programs do not check for arguments that no caller
/// passes. The ops of the catalog have all callers.
pub fn has_a_caller(case: &Case) -> bool {
    defined(&case.op).is_none_or(|(definition, _)| definition.has_a_caller(case))
}

/// True if `case` keeps to the definition of its op, such as the ranges of its floats. Beyond it nothing is promised of a value.
pub fn keeps(case: &Case) -> bool {
    defined(&case.op).is_some_and(|(definition, _)| definition.kept(case).is_some())
}

/// The case of the reference that the definition of an op has.
pub fn of_reference(case: &Case) -> Option<Case> {
    let reference = find(&format!("{}{REFERENCE}", case.op))?;
    Some(Case { op: reference.name.to_string(), ..in_f64(case) })
}

/// Some samples of `case`, if its definition says that it is a batch of samples that do not depend on each other.
pub fn samples(case: &Case) -> Vec<Sample> {
    defined(&case.op).map_or_else(Vec::new, |(definition, _)| definition.samples(case))
}

/// The case that trains from the inputs of `case`, if its definition says so and the case keeps to it.
pub fn of_training(case: &Case) -> Option<Case> {
    let training = find(&format!("{}{TRAINING}", case.op))?;
    keeps(case).then(|| Case { op: training.name.to_string(), backward: Backward::None, ..case.contiguous() })
}

/// The inputs that the training of an op changes, in the order of the outputs of [`of_training`].
pub fn parameters(op: &str) -> Vec<&'static str> {
    defined(op).map_or_else(Vec::new, |(definition, _)| definition.parameters().collect())
}

/// The same call with all floats as `f64`, which holds each of them exactly, and without gradients.
pub fn in_f64(case: &Case) -> Case {
    let wide = |tensor: &Tensor| {
        let dtype = if tensor.dtype.is_float() { DType::F64 } else { tensor.dtype };
        Tensor { dtype, ..tensor.clone() }
    };
    let inputs = case.inputs.iter().map(|(name, tensor)| (name.clone(), wide(tensor))).collect();
    Case { inputs, backward: Backward::None, ..case.clone() }
}
