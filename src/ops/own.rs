//! Ops that a program defines for itself, beside the catalog: its own losses, layers and kernels.

mod definition;
mod shape;

use std::sync::{OnceLock, PoisonError, RwLock};

pub use definition::{Definition, IntoOutputs, define};

use super::Op;
use crate::case::{Backward, Case};
use crate::tensor::{DType, Tensor};

/// The ops that this process has defined. Of two with the same name the last one counts.
static DEFINED: RwLock<Vec<(&Definition, &Op)>> = RwLock::new(Vec::new());

/// The ops that the command line of this program is about, in place of the catalog.
static BROUGHT: OnceLock<Vec<&Op>> = OnceLock::new();

/// The end of the name of an op that is the reference of another one.
const REFERENCE: &str = ".reference";

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

/// The case of the reference that the definition of an op has.
pub fn of_reference(case: &Case) -> Option<Case> {
    let reference = find(&format!("{}{REFERENCE}", case.op))?;
    Some(Case { op: reference.name.to_string(), ..in_f64(case) })
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
