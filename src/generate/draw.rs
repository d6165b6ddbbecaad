//! Biased random choices: sizes, shapes, values, views and ids where GPU code tends to break. Knows tensors, not ops.

use arbitrary::{Result, Unstructured};

use super::limits::{integers, magnitudes};
use crate::case::{Backward, Times};
use crate::tensor::{DType, Fill, Support, Tensor, Value, Values, View, product};

/// A source of biased random choices.
#[derive(Debug)]
pub struct Draw<'a> {
    bytes: Unstructured<'a>,
    budget: usize,
    is_large: bool,
    forced_dtype: Option<DType>,
}

/// Sizes around the limits of launch configurations, warps, blocks and reductions (candle-kernels: 32 lanes, 1,024 threads,
/// shared-memory sort up to 8,192 entries of 4 bytes, 65,535 blocks in `y` and `z`).
const CLIFFS: [usize; 22] =
    [15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 2049, 8192, 8193, 65_536];

/// Sizes at which a cost out of proportion shows: rows of a vocabulary, ids of a long text.
const LARGE: [usize; 4] = [4096, 8192, 16_384, 65_536];
/// The most elements of a large tensor.
const LARGE_BUDGET: usize = 1 << 17;

impl<'a> Draw<'a> {
    /// A source that reads `bytes`, for small tensors only.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes: Unstructured::new(bytes), budget: 64, is_large: false, forced_dtype: None }
    }

    /// A source that reads `bytes`, sometimes for large tensors: size limits matter, but a thousand small cases find more than
    /// one large one.
    pub fn of_any_size(bytes: &'a [u8]) -> Result<Self> {
        let mut draw = Self::new(bytes);
        if draw.one_in(64)? {
            draw.budget = if draw.one_in(4)? { 140_000 } else { 8_400 };
        }
        Ok(draw)
    }

    /// A source that reads `bytes`, for tensors with a large dimension.
    pub fn of_large_size(bytes: &'a [u8]) -> Self {
        Self { budget: LARGE_BUDGET, is_large: true, ..Self::new(bytes) }
    }

    /// This source, restricted to `dtype` if there is one.
    #[must_use]
    pub fn of_dtype(mut self, dtype: Option<DType>) -> Self {
        self.forced_dtype = dtype;
        self
    }

    /// One of `choices`.
    pub fn choose<'b, T>(&mut self, choices: &'b [T]) -> Result<&'b T> {
        self.bytes.choose(choices)
    }

    /// True in one of `n` draws.
    pub fn one_in(&mut self, n: u32) -> Result<bool> {
        // An exhausted source yields the smallest number: that must be the common answer.
        Ok(self.bytes.int_in_range(0..=n - 1)? == n - 1)
    }

    /// A number in `low..=high`, uniformly distributed.
    pub fn between(&mut self, low: usize, high: usize) -> Result<usize> {
        self.bytes.int_in_range(low..=high)
    }

    /// The size of a dimension: mostly 1 to 4, sometimes 0 or a limit, as the element budget allows.
    pub fn size(&mut self) -> Result<usize> {
        if self.is_large && self.budget >= LARGE[0] && self.one_in(2)? {
            let size = *self.choose(&LARGE)?;
            return self.spend(size);
        }
        let size = match self.between(0, 31)? {
            0..=24 => self.between(1, 4)?,
            25..=28 => self.between(5, 9)?,
            29 if self.one_in(3)? => 0,
            _ => *self.choose(&CLIFFS)?,
        };
        self.spend(size)
    }

    /// The size of a dimension, at least 1.
    pub fn positive(&mut self) -> Result<usize> {
        Ok(self.size()?.max(1))
    }

    /// The size of a dimension that an op reduces: often large if the case may be large.
    pub fn reduced(&mut self) -> Result<usize> {
        if self.budget > 64 && !self.one_in(4)? {
            let size = *self.choose(if self.is_large { &LARGE } else { &CLIFFS[..] })?;
            return self.spend(size);
        }
        self.positive()
    }

    /// The size of a dimension that an op reduces, or in one of 48 draws 0. Other dimensions may be empty, or not.
    pub fn lane(&mut self) -> Result<usize> {
        if self.one_in(48)? { Ok(0) } else { self.reduced() }
    }

    /// `size` if the budget allows it, otherwise a small one. The dimensions of a tensor share the budget.
    fn spend(&mut self, size: usize) -> Result<usize> {
        if size > self.budget {
            return self.between(1, self.budget.clamp(1, 4));
        }
        self.budget /= size.max(1);
        Ok(size)
    }

    /// A shape of `low..=high` dimensions.
    pub fn shape(&mut self, low: usize, high: usize) -> Result<Vec<usize>> {
        let rank = self.between(low, high)?;
        (0..rank).map(|_| self.size()).collect()
    }

    /// A shape of `low..=usual` dimensions, and in one of 16 draws of up to 6: for ops that take any rank.
    pub fn open_shape(&mut self, low: usize, usual: usize) -> Result<Vec<usize>> {
        if self.one_in(16)? { self.shape(usual + 1, 6) } else { self.shape(low, usual) }
    }

    /// A shape of any rank: mostly up to 3 dimensions, else up to 7. Compilers unroll the kernels' loops over dimensions by four.
    pub fn any_shape(&mut self) -> Result<Vec<usize>> {
        if self.one_in(4)? { self.shape(4, 7) } else { self.shape(0, 3) }
    }

    /// A dtype that some device supports: `f32` in a quarter of the draws, otherwise dtypes of both devices twice as often as dtypes
    /// of one. A source that is restricted to a dtype returns it, supported or not.
    pub fn dtype(&mut self, support: &Support) -> Result<DType> {
        if let Some(dtype) = self.forced_dtype {
            return Ok(dtype);
        }
        if self.one_in(4)? && support.cpu.contains(&DType::F32) {
            return Ok(DType::F32);
        }
        let all = [support.cpu, support.cuda].concat();
        self.choose(&all).copied()
    }

    /// A dtype for ids.
    pub fn id_dtype(&mut self) -> Result<DType> {
        self.choose(&DType::IDS).copied()
    }

    /// The start of the backward pass: none in half of the draws.
    pub fn backward(&mut self) -> Result<Backward> {
        if self.one_in(16)? {
            return Ok(Backward::Twice);
        }
        self.choose(&[Backward::None, Backward::None, Backward::Sum, Backward::Weighted]).copied()
    }

    /// How often a step is made, if it is made several times: seldom often enough for a deep graph.
    pub fn times(&mut self) -> Result<Times> {
        let times = *self.choose(&[2, 10, 10, 10, 100, 100, 1000, 50_000])?;
        Ok(Times::new(times).unwrap_or_default())
    }

    /// A tensor of `dtype` and `shape` with any values, in any view.
    pub fn tensor(&mut self, dtype: DType, shape: &[usize]) -> Result<Tensor> {
        let view = self.view(shape)?;
        self.tensor_in(dtype, shape, view)
    }

    /// A tensor of `dtype` and `shape` with small values that every dtype holds exactly, in any view.
    pub fn ordinary_tensor(&mut self, dtype: DType, shape: &[usize]) -> Result<Tensor> {
        let view = self.view(shape)?;
        self.filled(dtype, shape, view, |draw| draw.ordinary(dtype))
    }

    /// A tensor of `dtype` and `shape` with any values, contiguous in seven of eight draws: for ops that require it.
    pub fn packed(&mut self, dtype: DType, shape: &[usize]) -> Result<Tensor> {
        let view = if self.one_in(8)? { self.view(shape)? } else { View::default() };
        self.tensor_in(dtype, shape, view)
    }

    /// A tensor of ids in `0..bound`, biased to both ends, in any view. With `bound` 0 every id is out of range.
    pub fn ids(&mut self, dtype: DType, shape: &[usize], bound: usize) -> Result<Tensor> {
        let (_, max) = dtype.int_range().unwrap_or((0, i64::MAX));
        let last = (bound.max(1) as i64 - 1).min(max);
        let view = self.view(shape)?;
        let id = |draw: &mut Self| match draw.between(0, 7)? {
            0 | 1 => Ok(last),
            2 => Ok(0),
            _ => draw.bytes.int_in_range(0..=last),
        };
        self.filled(dtype, shape, view, |draw| Ok(Value::Int(id(draw)?)))
    }

    /// A tensor of `dtype` and `shape` with any values, in `view`.
    pub fn tensor_in(&mut self, dtype: DType, shape: &[usize], view: View) -> Result<Tensor> {
        // One kind of values per tensor: mostly ordinary ones, so that most cases reach the value oracles.
        match self.between(0, 15)? {
            0..=8 => self.filled(dtype, shape, view, |draw| draw.ordinary(dtype)),
            9..=13 => self.filled(dtype, shape, view, |draw| draw.spread(dtype)),
            _ => self.filled(dtype, shape, view, |draw| {
                if draw.one_in(2)? { draw.edge_value(dtype) } else { draw.ordinary(dtype) }
            }),
        }
    }

    /// A tensor of `dtype` and `shape` with values from `low` to `high`, in any view.
    pub fn tensor_within(&mut self, dtype: DType, shape: &[usize], low: f64, high: f64) -> Result<Tensor> {
        let view = self.view(shape)?;
        self.filled(dtype, shape, view, |draw| {
            let share = draw.between(0, 16)? as f64 / 16.0;
            Ok(Value::of(dtype, (low + (high - low) * share).clamp(low, high)))
        })
    }

    fn filled(
        &mut self,
        dtype: DType,
        shape: &[usize],
        view: View,
        mut value: impl FnMut(&mut Self) -> Result<Value>,
    ) -> Result<Tensor> {
        let mut tensor = Tensor { dtype, shape: shape.to_vec(), view, values: Values::List(Vec::new()) };
        let count = tensor.stored().unwrap_or(0);
        tensor.values = if count <= 80 {
            Values::List((0..count).map(|_| value(self)).collect::<Result<_>>()?)
        } else {
            let mut fill = Fill::constant(value(self)?);
            if self.one_in(2)? {
                fill.noise = Some(u32::from(self.bytes.arbitrary::<u16>()?));
            }
            for _ in 0..self.between(0, 3)? {
                fill.except.push((self.between(0, count - 1)?, value(self)?));
            }
            Values::Fill(fill)
        };
        Ok(tensor)
    }

    /// A small value that every dtype holds exactly, often tied with its neighbours.
    fn ordinary(&mut self, dtype: DType) -> Result<Value> {
        let eighths = self.between(0, 32)? as f64 - 16.0;
        Ok(if dtype.is_float() { Value::of(dtype, eighths / 8.0) } else { Value::of(dtype, (eighths / 4.0).abs()) })
    }

    /// A value of any small magnitude, with a full significand.
    fn spread(&mut self, dtype: DType) -> Result<Value> {
        let fraction = f64::from(self.bytes.arbitrary::<u16>()?) / 65_536.0;
        let scale = (self.between(0, 12)? as f64 - 6.0).exp2();
        let sign = if self.bytes.ratio(1, 2)? { 1.0 } else { -1.0 };
        Ok(Value::of(dtype, sign * (0.5 + fraction) * scale))
    }

    /// A value at the edge of the range of `dtype` or of a function that ops use.
    pub fn edge_value(&mut self, dtype: DType) -> Result<Value> {
        let Some(format) = dtype.format() else {
            return self.choose(&integers(dtype)).map(|&value| Value::Int(value));
        };
        let mut value = *self.choose(&magnitudes(dtype, format))?;
        if value.is_infinite() && dtype == DType::F8e4m3 {
            value = format.max;
        }
        if self.bytes.ratio(1, 2)? && !value.is_nan() {
            value = -value;
        }
        Ok(Value::of(dtype, value))
    }

    /// A view of `shape`: contiguous in three of five draws.
    pub fn view(&mut self, shape: &[usize]) -> Result<View> {
        let rank = shape.len();
        let mut view = View::default();
        if self.is_large && rank > 0 && self.one_in(4)? {
            // Most of the buffer is outside.
            let (dim, hidden) = (self.between(0, rank - 1)?, *self.choose(&LARGE)?);
            let stored = product(shape).and_then(|all| (all / shape[dim].max(1)).checked_mul(shape[dim] + hidden));
            if stored.is_some_and(|stored| stored <= LARGE_BUDGET) {
                set(&mut view.after, rank, dim, 0, hidden);
            }
            return Ok(view.normalized());
        }
        // An offset into an empty buffer makes every op that reads it panic: one regression covers that.
        if rank == 0 || shape.contains(&0) || self.between(0, 4)? < 3 || product(shape).is_none_or(|n| n > 20_000) {
            return Ok(view);
        }
        for _ in 0..self.between(1, 2)? {
            let dim = self.between(0, rank - 1)?;
            match self.between(0, 5)? {
                0 | 1 if rank > 1 => view.order = self.permutation(rank)?,
                2 => set(&mut view.before, rank, dim, 0, self.between(1, 3)?),
                3 => set(&mut view.after, rank, dim, 0, self.between(1, 3)?),
                // candle's iterators support eight dimensions, and each step adds one to the buffer.
                4 if rank <= 6 => set(&mut view.step, rank, dim, 1, self.between(2, 3)?),
                _ if !view.broadcasts(dim) => view.broadcast.push(dim),
                _ => {}
            }
        }
        Ok(view.normalized())
    }

    /// An order of the dimensions `0..rank`.
    pub fn permutation(&mut self, rank: usize) -> Result<Vec<usize>> {
        let mut order: Vec<usize> = (0..rank).collect();
        for last in (1..rank).rev() {
            // An exhausted source picks 0: still a permutation that is not the identity.
            order.swap(last, self.between(0, last)?);
        }
        Ok(order)
    }
}

fn set(list: &mut Vec<usize>, rank: usize, dim: usize, default: usize, value: usize) {
    list.resize(rank, default);
    list[dim] = value;
}
