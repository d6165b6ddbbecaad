//! How a tensor of a case is made, whatever the language: a buffer of values, and the steps from it to the view.

use crate::tensor::{Fill, Tensor, Value, Values, View, product};

/// The most elements that are spelled out.
const SPELLED: usize = 4096;
/// From here on a rule is shorter than its elements.
const LONG: usize = 24;

/// The values behind a view.
pub enum Buffer<'a> {
    /// So many elements of a constant, but for some.
    Filled(&'a Fill, usize),
    /// One after the other.
    Spelled(Vec<Value>),
}

/// A step from a buffer to a view of it.
pub enum Step {
    /// So many entries of a dimension, from a first one on.
    Narrow(usize, usize, usize),
    /// The first entry of a dimension, without the dimension.
    First(usize),
    /// A matrix transposed.
    Transpose,
    /// The dimensions in another order.
    Permute(Vec<usize>),
    /// Repeated to this shape, in place.
    Expand(Vec<usize>),
}

/// The buffer behind `data` and its shape. An `Err` says why nobody would write it.
pub fn buffer<'a>(name: &str, data: &'a Tensor) -> Result<(Buffer<'a>, Vec<usize>), String> {
    let stored = data.stored_shape();
    let count = product(&stored).unwrap_or(0);
    if let Values::Fill(fill @ Fill { noise: None, .. }) = &data.values
        && count > LONG
        && covers(&data.view)
    {
        return Ok((Buffer::Filled(fill, count), stored));
    }
    let mut values = data.values.to_vec(count);
    let mut shape = stored.clone();
    if !covers(&data.view) {
        let (positions, length) = data.view.positions(&stored);
        let mut cells = vec![Value::of(data.dtype, View::POISON); length];
        for (&position, &value) in positions.iter().zip(&values) {
            cells[position] = value;
        }
        (values, shape) = (cells, data.view.buffer_shape(&stored));
    }
    if values.len() > SPELLED {
        return Err(format!("`{name}` has {} elements, too many to spell out", values.len()));
    }
    Ok((Buffer::Spelled(values), shape))
}

/// Where each stored element of `data` lies in its buffer.
pub fn positions(data: &Tensor) -> Vec<usize> {
    let stored = data.stored_shape();
    if covers(&data.view) { (0..product(&stored).unwrap_or(0)).collect() } else { data.view.positions(&stored).0 }
}

/// Whether the view leaves nothing of its buffer out, and that in order.
fn covers(view: &View) -> bool {
    View { broadcast: Vec::new(), ..view.clone() } == View::default()
}

/// What makes the view of its buffer, as [`crate::run`] does.
pub fn steps(data: &Tensor) -> Vec<Step> {
    let (stored, view) = (data.stored_shape(), &data.view);
    let order = view.memory_order(stored.len());
    let mut steps = Vec::new();
    for (place, &dim) in order.iter().enumerate() {
        if view.step(dim) != 1 {
            steps.push(Step::First(place + 1));
        }
        if (view.before(dim), view.after(dim)) != (0, 0) {
            steps.push(Step::Narrow(place, view.before(dim), stored[dim]));
        }
    }
    let places: Vec<usize> = (0..stored.len()).filter_map(|dim| order.iter().position(|&d| d == dim)).collect();
    if places == [1, 0] {
        steps.push(Step::Transpose);
    } else if !places.iter().copied().eq(0..places.len()) {
        steps.push(Step::Permute(places));
    }
    if !view.broadcast.is_empty() {
        steps.push(Step::Expand(data.shape.clone()));
    }
    steps
}
