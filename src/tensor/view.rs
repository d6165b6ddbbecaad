//! The memory layout of a tensor: the affine views that candle's own ops can make of a contiguous buffer.

use serde::{Deserialize, Serialize};

use super::product;

/// A view of a contiguous buffer. The default is the buffer itself.
///
/// Each list is empty or has one entry per dimension, except `broadcast`. Buffer elements outside the view hold
/// [`View::POISON`]: an op that reads them returns a wrong value. The buffer may lie in that of another input of the case.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct View {
    /// The dimensions from the slowest to the fastest in memory, as made by `permute`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<usize>,
    /// Elements of the buffer in front of the view along each dimension, as made by `narrow`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<usize>,
    /// Elements of the buffer behind the view along each dimension, as made by `narrow`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<usize>,
    /// Only every n-th element of the buffer along each dimension, as made by selecting a column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub step: Vec<usize>,
    /// The dimensions with stride 0, as made by `broadcast_as`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broadcast: Vec<usize>,
    /// The input in whose buffer this view's buffer lies; it has its own if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The element of that buffer with which this view's buffer begins. It may end behind it.
    #[serde(skip_serializing_if = "is_zero")]
    pub offset: usize,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl View {
    /// The value of buffer elements outside the view: exact in every dtype, out of range as an id of a small dimension, and
    /// never drawn by the generators.
    pub const POISON: f64 = 80.0;

    /// Whether the view is the whole buffer in order, and the buffer that of no other input.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the view is the whole buffer in order.
    pub fn is_contiguous(&self) -> bool {
        self.is_whole_buffer() && self.broadcast.is_empty()
    }

    /// Whether the view is the whole buffer in order, apart from broadcast dimensions.
    pub fn is_whole_buffer(&self) -> bool {
        let Self { order, before, after, step, broadcast: _, of: _, offset: _ } = self;
        [order, before, after, step].into_iter().all(Vec::is_empty)
    }

    /// Whether dimension `dim` has stride 0.
    pub fn broadcasts(&self, dim: usize) -> bool {
        self.broadcast.contains(&dim)
    }

    /// The dimensions from the slowest to the fastest in memory.
    pub fn memory_order(&self, rank: usize) -> Vec<usize> {
        if self.order.is_empty() { (0..rank).collect() } else { self.order.clone() }
    }

    /// The number of buffer elements in front of the view along `dim`.
    pub fn before(&self, dim: usize) -> usize {
        self.before.get(dim).copied().unwrap_or(0)
    }

    /// The number of buffer elements behind the view along `dim`.
    pub fn after(&self, dim: usize) -> usize {
        self.after.get(dim).copied().unwrap_or(0)
    }

    /// The distance in buffer elements from one element to the next along `dim`.
    pub fn step(&self, dim: usize) -> usize {
        self.step.get(dim).copied().unwrap_or(1)
    }

    /// The shape of the buffer behind a view of `stored` shape, in memory order: for each dimension the number of blocks and, if
    /// it has a step, the elements of a block. The view takes the first element of each block.
    pub fn buffer_shape(&self, stored: &[usize]) -> Vec<usize> {
        let blocks = |dim: usize| self.before(dim).saturating_add(stored[dim]).saturating_add(self.after(dim));
        let sizes = |dim: usize| std::iter::once(blocks(dim)).chain(Some(self.step(dim)).filter(|step| *step != 1));
        self.memory_order(stored.len()).into_iter().flat_map(sizes).collect()
    }

    /// The position in the buffer of each stored element (row-major in `stored` shape), and the buffer's length.
    pub fn positions(&self, stored: &[usize]) -> (Vec<usize>, usize) {
        let buffer = self.buffer_shape(stored);
        let order = self.memory_order(stored.len());
        let mut strides = vec![0; stored.len()];
        let mut behind = &buffer[..];
        for &dim in &order {
            strides[dim] = product(&behind[1..]).unwrap_or(0);
            behind = &behind[if self.step(dim) == 1 { 1 } else { 2 }..];
        }
        let mut positions = Vec::with_capacity(product(stored).unwrap_or(0));
        super::for_each_index(stored, |index| {
            positions.push(index.iter().enumerate().map(|(dim, &i)| (i + self.before(dim)) * strides[dim]).sum());
        });
        (positions, product(&buffer).unwrap_or(0))
    }

    /// Checks that this is a view of a tensor with `rank` dimensions.
    pub fn check(&self, rank: usize) -> Result<(), String> {
        let lists = [("order", &self.order), ("before", &self.before), ("after", &self.after), ("step", &self.step)];
        for (name, list) in lists {
            if !list.is_empty() && list.len() != rank {
                return Err(format!("has a view whose `{name}` lists {} of {rank} dimensions", list.len()));
            }
        }
        let mut sorted = self.order.clone();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..sorted.len()) {
            return Err(format!("has a view whose `order` {:?} is not a permutation", self.order));
        }
        if self.step.contains(&0) {
            return Err("has a view with a step of 0; stride 0 is written `broadcast`".to_string());
        }
        if self.of.is_none() && self.offset != 0 {
            return Err("has a view with an `offset`, but without `of`, the input that it is counted in".to_string());
        }
        let mut seen = self.broadcast.clone();
        seen.sort_unstable();
        seen.dedup();
        if seen.len() != self.broadcast.len() || seen.last().is_some_and(|&dim| dim >= rank) {
            return Err(format!("has a view that broadcasts {:?} of {rank} dimensions", self.broadcast));
        }
        Ok(())
    }

    /// The view without dimension `dim`.
    #[must_use]
    pub fn without(&self, dim: usize) -> Self {
        let shift = |d: &usize| if *d > dim { d - 1 } else { *d };
        let drop_entry = |list: &Vec<usize>| {
            let kept = list.iter().enumerate().filter(|(d, _)| *d != dim).map(|(_, &n)| n);
            kept.collect::<Vec<_>>()
        };
        let renumber = |list: &Vec<usize>| list.iter().filter(|d| **d != dim).map(shift).collect::<Vec<_>>();
        Self {
            order: renumber(&self.order),
            before: drop_entry(&self.before),
            after: drop_entry(&self.after),
            step: drop_entry(&self.step),
            broadcast: renumber(&self.broadcast),
            of: self.of.clone(),
            offset: self.offset,
        }
        .normalized()
    }

    /// The same view, with lists that have no effect left empty.
    #[must_use]
    pub fn normalized(mut self) -> Self {
        if self.order.iter().copied().eq(0..self.order.len()) {
            self.order.clear();
        }
        for list in [&mut self.before, &mut self.after] {
            if list.iter().all(|&n| n == 0) {
                list.clear();
            }
        }
        if self.step.iter().all(|&n| n == 1) {
            self.step.clear();
        }
        self.broadcast.sort_unstable();
        self
    }
}
