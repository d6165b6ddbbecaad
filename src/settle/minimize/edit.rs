//! Small changes of a case, from which passes make their candidates.

use crate::case::Case;
use crate::tensor::{Tensor, resized};

/// A small change of a case.
pub type Edit = Box<dyn Fn(&mut Case)>;

/// The case with `edit` applied to the input `name`, if there is one.
pub fn with_input(case: &Case, name: &str, edit: impl Fn(&Tensor) -> Tensor) -> Case {
    let mut case = case.clone();
    if let Some(tensor) = case.inputs.get_mut(name) {
        *tensor = edit(tensor);
    }
    case
}

/// The case with `edit` applied to every input.
pub fn with_inputs(case: &Case, edit: impl Fn(&Tensor) -> Tensor) -> Case {
    let inputs = case.inputs.iter().map(|(name, tensor)| (name.clone(), edit(tensor))).collect();
    Case { inputs, ..case.clone() }
}

/// The tensor with another size of one dimension.
pub fn with_size(tensor: &Tensor, dim: usize, size: usize) -> Tensor {
    let mut shape = tensor.shape.clone();
    shape[dim] = size;
    resized(tensor, shape)
}
