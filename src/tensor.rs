//! Tensors as plain data: dtype, shape, memory layout and values. Nothing here depends on candle.

mod buffer;
mod dtype;
mod edit;
mod size;
mod support;
mod values;
mod view;

pub use dtype::DType;
pub use values::Value;

// Not promised.
#[doc(hidden)]
pub use {
    buffer::Step,
    dtype::Format,
    edit::{cast, resized, sliced, viewed, without_dim},
    size::{TooLarge, elements, product},
    support::Support,
    values::{Fill, Values},
    view::View,
};

use serde::{Deserialize, Serialize};

/// A tensor of a case or of an outcome, as plain data.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tensor {
    /// The element type; every value is exactly representable in it.
    pub dtype: DType,
    /// The logical shape, as the op sees it.
    pub shape: Vec<usize>,
    /// The memory layout.
    #[doc(hidden)]
    #[serde(default, skip_serializing_if = "View::is_plain")]
    pub view: View,
    /// The *stored* elements in row-major order: a dimension that the view broadcasts (stride 0) counts once, because all its positions
    /// share one element.
    #[doc(hidden)]
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

    /// All logical values in row-major order, broadcast dimensions repeated. Nobody may ask a vast tensor for them.
    pub fn expanded(&self) -> Vec<Value> {
        let stored = self.values.to_vec(self.stored().unwrap_or(0));
        if self.view.broadcast.is_empty() {
            return stored;
        }
        spread(&stored, &self.stored_shape(), &self.shape)
    }

    /// All logical values as `f64`; integers are converted exactly up to 2^53.
    pub fn floats(&self) -> Vec<f64> {
        self.expanded().into_iter().map(Value::as_f64).collect()
    }

    /// All logical values as integers, floats truncated. Only for integer tensors.
    pub fn ints(&self) -> Vec<i64> {
        self.expanded().into_iter().map(Value::as_i64).collect()
    }

    /// The same values, contiguous in a buffer of their own. Those of a vast tensor remain a broadcast.
    #[must_use]
    pub fn contiguous(&self) -> Self {
        if self.view.is_plain() {
            return self.clone();
        }
        if self.is_vast() {
            return Self { view: View { broadcast: self.view.broadcast.clone(), ..View::default() }, ..self.clone() };
        }
        let values = if self.view.broadcast.is_empty() { self.values.clone() } else { Values::List(self.expanded()) };
        Self { dtype: self.dtype, shape: self.shape.clone(), view: View::default(), values }
    }
}

// Not promised.
#[doc(hidden)]
impl Tensor {
    /// The number of stored elements: the logical ones with each broadcast dimension counted once.
    pub fn stored(&self) -> Option<usize> {
        product(&self.stored_shape())
    }

    /// The logical shape with 1 for each broadcast dimension.
    pub fn stored_shape(&self) -> Vec<usize> {
        let once = |(dim, &size): (usize, &usize)| if self.view.broadcasts(dim) { size.min(1) } else { size };
        self.shape.iter().enumerate().map(once).collect()
    }

    /// Whether it repeats what it stores to more elements than may be listed one by one. A program's own tensor may be larger, and is stored.
    pub fn is_vast(&self) -> bool {
        !self.view.broadcast.is_empty() && self.elements().is_none_or(|count| count > MAX_ELEMENTS)
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
        elements(&self.shape).map_err(|problem| format!("has too many elements: {problem}"))?;
        let fits = |shape: &[usize]| elements(shape).is_ok_and(|count| count <= MAX_ELEMENTS);
        if !fits(&self.stored_shape()) {
            let of = if self.view.broadcast.is_empty() { "" } else { ", each of a broadcast dimension counted once" };
            return Err(format!("shape {:?} has more than {MAX_ELEMENTS} elements{of}", self.shape));
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

/// The most elements that an input of a case may store, and the most that anything lists one by one (2^24): far above every size cliff of
/// candle's kernels, far below what a worker's memory limit allows.
#[doc(hidden)]
pub const MAX_ELEMENTS: usize = 1 << 24;

/// The elements of `shape` in row-major order, read from `values` of the shape `from`, which has 1 for each dimension that is repeated.
fn spread(values: &[Value], from: &[usize], shape: &[usize]) -> Vec<Value> {
    let mut out = Vec::with_capacity(product(shape).unwrap_or(0));
    for_each_index(shape, |index| {
        let flat = index.iter().zip(from).fold(0, |flat, (&i, &n)| flat * n + if n == 1 { 0 } else { i });
        out.push(values[flat]);
    });
    out
}

/// The index in each dimension of the element at `place` in row-major order.
#[doc(hidden)]
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
#[doc(hidden)]
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
