//! Reductions over dimensions: which elements become one, and the shape of the result.

use ndarray::{ArrayD, Dimension, IxDyn};

use crate::case::Case;
use crate::number::{Accumulated, Num};
use crate::tensor::Tensor;

/// Any value: the reference promises none.
pub const ANY_VALUE: Num = Num { error: f64::NAN, indeterminate: true, ..Num::exact(f64::NAN) };

/// `x^2` with the bound's second-order term, the only one that is not 0 where `x` should be 0.
pub fn squared(x: Num) -> Num {
    let square = x * x;
    let (error, slope_error) = (x.error * x.error, 2.0 * x.error * x.slope_error);
    Num { error: square.error + error, slope_error: square.slope_error + slope_error, ..square }
}

/// The dimensions that a case reduces: all, or those of the param `dims`.
pub fn reduced_dims(case: &Case, rank: usize) -> Vec<usize> {
    if case.text("form") == "all" { (0..rank).collect() } else { case.sizes("dims") }
}

/// Whether a sum of integers over `dims` could leave the dtype, or what `f64` holds.
pub fn overflows(x: &Tensor, dims: &[usize]) -> bool {
    let largest = x.dtype.int_range().map_or(f64::INFINITY, |(_, high)| high as f64).min(2f64.powi(53));
    let numbers = x.floats().into_iter().map(|value| Num::exact(value.abs())).collect();
    let array = ArrayD::from_shape_vec(IxDyn(&x.shape), numbers).expect("a checked tensor has all its elements");
    groups(&array, dims).1.iter().any(|group| group.iter().map(|x| x.value).sum::<f64>() > largest)
}

/// The shape that a reduction over `dims` returns.
pub fn reduced_shape(shape: &[usize], dims: &[usize], keepdim: bool) -> Vec<usize> {
    let kept = |(dim, &size): (usize, &usize)| match (dims.contains(&dim), keepdim) {
        (false, _) => Some(size),
        (true, true) => Some(1),
        (true, false) => None,
    };
    shape.iter().enumerate().filter_map(kept).collect()
}

/// The shape of a reduction over `dims` that keeps them, and for each of its positions the elements of `x` that it
/// reduces.
pub fn groups(x: &ArrayD<Num>, dims: &[usize]) -> (Vec<usize>, Vec<Vec<Num>>) {
    let shape = reduced_shape(x.shape(), dims, true);
    let mut groups = vec![Vec::new(); shape.iter().product()];
    for (index, &value) in x.indexed_iter() {
        let position = |flat: usize, (&i, &n): (&usize, &usize)| flat * n + if n == 1 { 0 } else { i };
        groups[index.slice().iter().zip(&shape).fold(0, position)].push(value);
    }
    (shape, groups)
}

/// The reduction of `x` over `dims` by `f`, which gets the elements of each output.
pub fn reduced(x: &ArrayD<Num>, dims: &[usize], keepdim: bool, f: impl Fn(&[Num]) -> Num) -> Vec<ArrayD<Num>> {
    let values = groups(x, dims).1.iter().map(|group| f(group)).collect();
    let shape = reduced_shape(x.shape(), dims, keepdim);
    vec![ArrayD::from_shape_vec(IxDyn(&shape), values).expect("one value per group")]
}

/// Every element of `lane` replaced by the sum up to it, accumulated as [`Num::sum`] does.
pub fn accumulate<'a>(lane: impl Iterator<Item = &'a mut Num>) {
    let mut so_far = Accumulated::default();
    for slot in lane {
        so_far.add(*slot);
        *slot = so_far.total();
    }
}
