//! proptest strategies for tensors, shapes, layouts, labels and ids: the values, sizes and views at which tensor code breaks. They shrink
//! towards small contiguous tensors of zeros.
//!
//! They make plain [`Tensor`]s, which print as text and shrink; [`to_candle`] puts one on a device.
//!
//! ```
//! use proptest::prelude::*;
//! use snuffer::{strategy, strategy::to_candle, tensor::DType};
//!
//! proptest!(|(x in strategy::view_of(strategy::tensor(DType::F32, strategy::shape(1..=3))))| {
//!     let x = to_candle(&x, &candle_core::Device::Cpu)?;
//!     prop_assert_eq!(x.exp()?.dims(), x.dims());
//! });
//! ```

use std::ops::RangeInclusive;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy};
use proptest::{prop_oneof, sample};

use crate::generate::{integers, magnitudes};
pub use crate::run::to_candle;
use crate::tensor::{DType, Tensor, Value, View, product};

/// The most elements that the strategies for tensors list.
const MOST: usize = 4096;

/// A size: mostly 1 to 4, sometimes 0, or one around a warp or a block.
pub fn size() -> impl Strategy<Value = usize> {
    prop_oneof![24 => 1_usize..=4, 4 => 5_usize..=9, 1 => Just(0), 3 => sample::select(vec![16, 17, 31, 32, 33, 64, 65, 257])]
}

/// A shape with this many dimensions, of at most 4,096 elements.
pub fn shape(rank: RangeInclusive<usize>) -> impl Strategy<Value = Vec<usize>> {
    vec(size(), rank).prop_filter("few elements", |shape| product(shape).is_some_and(|count| count <= MOST))
}

/// Two shapes that broadcast to one: the second is the first with dimensions of 1, and perhaps without its first dimensions.
pub fn broadcastable(rank: RangeInclusive<usize>) -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
    shape(rank).prop_flat_map(|whole| {
        let rank = whole.len();
        (Just(whole), 0..=rank, vec(proptest::bool::ANY, rank)).prop_map(|(whole, dropped, ones)| {
            let kept = whole.iter().zip(&ones).skip(dropped);
            let part = kept.map(|(&size, &is_one)| if is_one { 1 } else { size }).collect();
            (whole, part)
        })
    })
}

/// An element of this dtype: mostly small and exact, sometimes with all digits, or at the edge of the range.
pub fn value(dtype: DType) -> impl Strategy<Value = Value> {
    let edges = dtype.format().map_or_else(
        || integers(dtype).into_iter().map(Value::Int).collect::<Vec<_>>(),
        |format| {
            magnitudes(dtype, format).into_iter().flat_map(|it| [it, -it]).map(|it| Value::of(dtype, it)).collect()
        },
    );
    let least = if dtype.is_float() { -16 } else { 0 };
    prop_oneof![
        8 => (least..=16_i32).prop_map(move |eighths| Value::of(dtype, f64::from(eighths) / if dtype.is_float() { 8.0 } else { 1.0 })),
        4 => (-64.0..64.0_f64).prop_map(move |it| Value::of(dtype, if dtype.is_float() { it } else { it.abs() })),
        1 => sample::select(edges),
    ]
}

/// A contiguous tensor of this dtype, in a shape of `shapes`.
pub fn tensor(dtype: DType, shapes: impl Strategy<Value = Vec<usize>>) -> impl Strategy<Value = Tensor> {
    listed(dtype, shapes, move || value(dtype))
}

/// A vector of `count` labels of this dtype, each below `classes`. Both ends are common.
pub fn labels(dtype: DType, count: impl Strategy<Value = usize>, classes: usize) -> impl Strategy<Value = Tensor> {
    ids(dtype, count.prop_map(|count| vec![count]), classes)
}

/// A tensor of ids of this dtype, each below `below`, which is at least 1. Both ends are common.
///
/// # Panics
///
/// If `below` is 0, or `dtype` has no integers.
pub fn ids(dtype: DType, shapes: impl Strategy<Value = Vec<usize>>, below: usize) -> impl Strategy<Value = Tensor> {
    let (_, most) = dtype.int_range().expect("ids are integers");
    let last = (below.checked_sub(1).expect("an id below 0") as i64).min(most);
    listed(dtype, shapes, move || prop_oneof![2 => 0..=last, 1 => Just(last)].prop_map(Value::Int))
}

/// A tensor of `tensors` in any layout with the same values: permuted, a part of a larger buffer, or with steps. One without elements
/// stays as it is: candle panics for an offset into an empty buffer.
pub fn view_of(tensors: impl Strategy<Value = Tensor>) -> impl Strategy<Value = Tensor> {
    tensors.prop_flat_map(|tensor| {
        let rank = tensor.shape.len();
        let order = Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
        let padding = || vec(prop_oneof![3 => Just(0_usize), 1 => 1_usize..=3], rank);
        let step = vec(prop_oneof![5 => Just(1_usize), 1 => 2_usize..=3], rank);
        (Just(tensor), order, padding(), padding(), step).prop_map(|(tensor, order, before, after, step)| {
            // candle's iterators support eight dimensions, and each step adds one to the buffer.
            let step = if tensor.shape.len() > 4 { Vec::new() } else { step };
            let view = View { order, before, after, step, ..View::default() }.normalized();
            if tensor.shape.contains(&0) { tensor } else { Tensor { view, ..tensor } }
        })
    })
}

fn listed<V: Strategy<Value = Value>>(
    dtype: DType,
    shapes: impl Strategy<Value = Vec<usize>>,
    value: impl Fn() -> V,
) -> impl Strategy<Value = Tensor> {
    shapes.prop_flat_map(move |shape| {
        let count = product(&shape).unwrap_or(0).min(MOST);
        vec(value(), count).prop_map(move |values| Tensor::new(dtype, shape.clone(), values))
    })
}
