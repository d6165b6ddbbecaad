//! How a program makes a tensor in any language: a buffer of values, and the steps from it to the view.

use crate::tensor::{self, Fill, Tensor, Value, Values, product};

/// The most elements that are spelled out.
const SPELLED: usize = 4096;
/// Above this count, a fill rule is shorter than a list of the elements.
const LONG: usize = 24;

/// The values behind a view.
pub enum Buffer<'a> {
    /// A fill rule and the number of elements.
    Filled(&'a Fill, usize),
    /// Every value in order.
    Spelled(Vec<Value>),
}

/// A step from a buffer to a view of it.
pub enum Step {
    /// `narrow`: the dimension, the start and the length.
    Narrow(usize, usize, usize),
    /// The first entry of a dimension, which is then removed.
    First(usize),
    /// The transpose of a matrix.
    Transpose,
    /// Two dimensions that change places.
    Swap(usize, usize),
    /// The dimensions in their new order.
    Permute(Vec<usize>),
    /// Broadcast to this shape.
    Expand(Vec<usize>),
}

/// The buffer behind `data` and its shape. An `Err` says that it has too many elements to write.
pub fn buffer<'a>(name: &str, data: &'a Tensor) -> Result<(Buffer<'a>, Vec<usize>), String> {
    let stored = data.stored_shape();
    let count = product(&stored).unwrap_or(0);
    if let Values::Fill(fill @ Fill { noise: None, .. }) = &data.values
        && count > LONG
        && data.view.is_whole_buffer()
    {
        return Ok((Buffer::Filled(fill, count), stored));
    }
    let (values, shape) = data.buffer();
    if values.len() > SPELLED {
        return Err(format!("`{name}` has {} elements, too many to spell out", values.len()));
    }
    Ok((Buffer::Spelled(values), shape))
}

/// True for zeros that are more than a person would list.
pub fn are_many_zeros(values: &[Value]) -> bool {
    const FEW: usize = 4;
    values.len() > FEW && values.iter().all(|value| value.as_f64() == 0.0 && value.as_f64().is_sign_positive())
}

/// The steps from a buffer in which several inputs lie to the part that is the buffer of `data`: a narrower range, another shape.
pub fn part(
    data: &Tensor,
    start: usize,
    length: usize,
    whole: &Tensor,
) -> (Option<(usize, usize)>, Option<Vec<usize>>) {
    let shape = data.view.buffer_shape(&data.stored_shape());
    ((whole.shape != [length]).then_some((start, length)), (shape != [length]).then_some(shape))
}

/// The steps from the buffer to the view, as people write them.
pub fn steps(data: &Tensor) -> Vec<Step> {
    let step = |step| match step {
        tensor::Step::Narrow(dim, start, len) => Step::Narrow(dim, start, len),
        tensor::Step::First(dim) => Step::First(dim),
        tensor::Step::Permute(order) if order == [1, 0] => Step::Transpose,
        tensor::Step::Permute(order) => swap(&order).unwrap_or(Step::Permute(order)),
    };
    let expand = (!data.view.broadcast.is_empty()).then(|| Step::Expand(data.shape.clone()));
    data.steps().into_iter().map(step).chain(expand).collect()
}

/// The step with this order of dimensions, if it only swaps two.
fn swap(order: &[usize]) -> Option<Step> {
    let moved: Vec<usize> = (0..order.len()).filter(|&dim| order[dim] != dim).collect();
    match moved[..] {
        [one, other] => Some(Step::Swap(one, other)),
        _ => None,
    }
}
