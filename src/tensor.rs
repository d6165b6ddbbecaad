//! Tensors as plain data: dtype, shape, memory layout and values. Nothing here depends on candle.

mod buffer;
mod dtype;
mod edit;
mod size;
mod support;
mod values;
mod view;

pub use buffer::Step;
pub use dtype::{DType, Format};
pub use edit::{cast, resized, sliced, viewed, without_dim};
pub use size::{TooLarge, elements, product};
pub use support::Support;
pub use values::{Fill, Value, Values};
pub use view::View;

use serde::{Deserialize, Serialize};

/// A tensor of a case or of an outcome.
///
/// `values` lists the *stored* elements in row-major order: a dimension that the view broadcasts (stride 0) counts once,
/// because all its positions share one element.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tensor {
    /// The element type; every value is exactly representable in it.
    pub dtype: DType,
    /// The logical shape, as the op sees it.
    pub shape: Vec<usize>,
    /// The memory layout.
    #[serde(default, skip_serializing_if = "View::is_plain")]
    pub view: View,
    /// The elements.
    pub values: Values,
}

impl Tensor {
    /// A contiguous tensor with all its values listed.
    pub fn new(dtype: DType, shape: Vec<usize>, values: Vec<Value>) -> Self {
        Self { dtype, shape, view: View::default(), values: Values::List(values) }
    }

    /// The number of logical elements, or `None` where the product overflows.
    pub fn elements(&self) -> Option<usize> {
        product(&self.shape)
    }

    /// The number of stored elements: the logical ones with each broadcast dimension counted once.
    pub fn stored(&self) -> Option<usize> {
        product(&self.stored_shape())
    }

    /// The logical shape with 1 for each broadcast dimension.
    pub fn stored_shape(&self) -> Vec<usize> {
        let once = |(dim, &size): (usize, &usize)| if self.view.broadcasts(dim) { size.min(1) } else { size };
        self.shape.iter().enumerate().map(once).collect()
    }

    /// All logical values in row-major order, broadcast dimensions repeated.
    pub fn expanded(&self) -> Vec<Value> {
        let stored = self.values.to_vec(self.stored().unwrap_or(0));
        if self.view.broadcast.is_empty() {
            return stored;
        }
        let dims = self.stored_shape();
        let mut out = Vec::with_capacity(self.elements().unwrap_or(0));
        for_each_index(&self.shape, |index| {
            let flat = index.iter().zip(&dims).fold(0, |flat, (&i, &n)| flat * n + if n == 1 { 0 } else { i });
            out.push(stored[flat]);
        });
        out
    }

    /// All logical values as `f64`; integers are converted exactly up to 2^53.
    pub fn floats(&self) -> Vec<f64> {
        self.expanded().into_iter().map(Value::as_f64).collect()
    }

    /// All logical values as integers, floats truncated. Only for integer tensors.
    pub fn ints(&self) -> Vec<i64> {
        self.expanded().into_iter().map(Value::as_i64).collect()
    }

    /// The same values, contiguous in a buffer of their own.
    #[must_use]
    pub fn contiguous(&self) -> Self {
        if self.view.is_plain() {
            return self.clone();
        }
        let values = if self.view.broadcast.is_empty() { self.values.clone() } else { Values::List(self.expanded()) };
        Self { dtype: self.dtype, shape: self.shape.clone(), view: View::default(), values }
    }

    /// Gives each value the form of the dtype: `1` is `1.0` in a float tensor, and `2.0` is `2` in an integer tensor.
    pub fn normalize(&mut self) {
        self.values.normalize(self.dtype);
    }

    /// Checks the tensor: the number of values, whether the view fits the shape, and whether the dtype can hold the values.
    pub fn check(&self) -> Result<(), String> {
        if self.shape.len() > 8 {
            return Err(format!("has {} dimensions; at most 8 are supported", self.shape.len()));
        }
        self.view.check(self.shape.len())?;
        let fits = |shape: &[usize]| elements(shape).is_ok_and(|count| count <= MAX_ELEMENTS);
        if !fits(&self.shape) {
            return Err(format!(
                "shape {:?} has more than {MAX_ELEMENTS} elements, or sizes that are too large",
                self.shape
            ));
        }
        // The buffer behind a view may be larger than the view: limit it too, or a tiny tensor could use all memory.
        if !fits(&self.view.buffer_shape(&self.stored_shape())) {
            return Err(format!("the buffer behind the view has more than {MAX_ELEMENTS} elements"));
        }
        let stored = elements(&self.stored_shape()).map_err(|problem| problem.to_string())?;
        self.values.check(stored, self.dtype)
    }

    /// Checks that an output has a value for each element. Its sizes and values are what candle returned, and may be any: beside a 0 also
    /// sizes that no input can have.
    pub fn check_output(&self) -> Result<(), String> {
        let count = product(&self.shape).ok_or_else(|| format!("has too many elements: {:?}", self.shape))?;
        self.values.check_count(count)
    }
}

/// The largest tensor that a case may hold (2^24 elements): far above every size cliff of candle's kernels, far below
/// what a worker's memory limit allows.
pub const MAX_ELEMENTS: usize = 1 << 24;

/// The index in each dimension of the element at `place` in row-major order.
pub fn index_of(place: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = place;
    let mut index = vec![0; shape.len()];
    for (index, &size) in index.iter_mut().zip(shape).rev() {
        *index = rest % size;
        rest /= size;
    }
    index
}

/// Calls `visit` with every index of `shape` in row-major order.
pub fn for_each_index(shape: &[usize], mut visit: impl FnMut(&[usize])) {
    let count = product(shape).unwrap_or(0);
    let mut index = vec![0; shape.len()];
    for _ in 0..count {
        visit(&index);
        for dim in (0..shape.len()).rev() {
            index[dim] += 1;
            if index[dim] < shape[dim] {
                break;
            }
            index[dim] = 0;
        }
    }
}
