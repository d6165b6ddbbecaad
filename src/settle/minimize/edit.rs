//! Small changes of a case, from which passes make their candidates.

use crate::case::Case;
use crate::tensor::{Tensor, Value, resized};

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

/// The case with another number at this index of the numbers of a param.
pub fn with_number(case: &Case, name: &str, index: usize, value: Value) -> Case {
    let mut case = case.clone();
    if let Some(number) = case.params.get_mut(name).and_then(|param| param.numbers_mut().into_iter().nth(index)) {
        *number = value;
    }
    case
}

/// Every number among the params: the param's name, and the number's index where the param is a list.
pub fn numbers(case: &Case) -> impl Iterator<Item = (&str, usize, Value)> {
    case.params.iter().flat_map(|(name, param)| {
        param.numbers().into_iter().enumerate().map(move |(index, value)| (name.as_str(), index, value))
    })
}

/// The tensor with another size of one dimension.
pub fn with_size(tensor: &Tensor, dim: usize, size: usize) -> Tensor {
    let mut shape = tensor.shape.clone();
    shape[dim] = size;
    resized(tensor, shape)
}
