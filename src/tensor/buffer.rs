//! How a tensor with a view is made: a contiguous buffer, and the steps from the buffer to the view.

use super::{Tensor, Value, View, product};

/// A step from the buffer to the view, each one op of candle or PyTorch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// `narrow`: the dimension, the start and the length.
    Narrow(usize, usize, usize),
    /// The first entry of a dimension, which is then removed.
    First(usize),
    /// `permute`: the dimensions in their new order.
    Permute(Vec<usize>),
}

// Not promised.
#[doc(hidden)]
impl Tensor {
    /// The values of the buffer, with [`View::POISON`] outside the view, and its shape.
    pub fn buffer(&self) -> (Vec<Value>, Vec<usize>) {
        let stored = self.stored_shape();
        let values = self.values.to_vec(product(&stored).unwrap_or(0));
        if self.view.is_whole_buffer() {
            return (values, stored);
        }
        let (positions, length) = self.view.positions(&stored);
        let mut cells = vec![Value::of(self.dtype, View::POISON); length];
        for (&position, &value) in positions.iter().zip(&values) {
            cells[position] = value;
        }
        (cells, self.view.buffer_shape(&stored))
    }

    /// The position in the buffer of each stored element.
    pub fn buffer_positions(&self) -> Vec<usize> {
        let stored = self.stored_shape();
        if self.view.is_whole_buffer() {
            (0..product(&stored).unwrap_or(0)).collect()
        } else {
            self.view.positions(&stored).0
        }
    }

    /// The steps from the buffer to the stored elements in logical order; broadcasting comes after them.
    pub fn steps(&self) -> Vec<Step> {
        let (stored, view) = (self.stored_shape(), &self.view);
        let order = view.memory_order(stored.len());
        let mut steps = Vec::new();
        for (place, &dim) in order.iter().enumerate() {
            // A dimension with a step is two dimensions of the buffer: blocks, and elements of a block. The latter is removed,
            // so dimension `place` is always the next one to handle.
            if view.step(dim) != 1 {
                steps.push(Step::First(place + 1));
            }
            if (view.before(dim), view.after(dim)) != (0, 0) {
                steps.push(Step::Narrow(place, view.before(dim), stored[dim]));
            }
        }
        let places: Vec<usize> = (0..stored.len()).filter_map(|dim| order.iter().position(|&d| d == dim)).collect();
        if !places.iter().copied().eq(0..places.len()) {
            steps.push(Step::Permute(places));
        }
        steps
    }
}
