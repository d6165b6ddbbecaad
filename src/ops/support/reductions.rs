//! Lanes: the elements that a reduction takes together, and what is left of a shape.

use ndarray::{ArrayD, Dimension, IxDyn};

use crate::case::Case;
use crate::number::{Num, SINGLE};
use crate::tensor::Tensor;

/// A value that nobody promises.
pub const OPEN: Num = Num { error: f64::NAN, ..Num::exact(f64::NAN) };

/// Whether gradients are asked for where an input has no elements: candle's store may lack them.
pub fn gradient_of_nothing(case: &Case) -> bool {
    !case.backward.is_none() && case.inputs.values().any(|tensor| tensor.elements() == Some(0))
}

/// `x^2` with the bound's second-order term, which is all there is where `x` should be 0.
pub fn squared(x: Num) -> Num {
    let square = x * x;
    let (error, slope_error) = (x.error * x.error, 2.0 * x.error * x.slope_error);
    Num { error: square.error + error, slope_error: square.slope_error + slope_error, ..square }
}

/// The params that name dimensions, in the order in which candle gets them.
pub const DIMS: [&str; 3] = ["dim", "dim2", "dim3"];

/// The dimensions that a case lists, as candle gets them.
pub fn listed(case: &Case) -> Vec<usize> {
    let names = DIMS.iter().filter(|name| case.params.contains_key(**name));
    names.map(|name| usize::try_from(case.int(name, 0)).unwrap_or(0)).collect()
}

/// The dimensions that a case reduces.
pub fn reduces(case: &Case, x: &Tensor) -> Vec<usize> {
    if case.text("form") == "all" { (0..x.shape.len()).collect() } else { listed(case) }
}

/// Whether a sum of integers over `dims` could leave the dtype, or what `f64` holds.
pub fn overflows(x: &Tensor, dims: &[usize]) -> bool {
    let largest = x.dtype.int_range().map_or(f64::INFINITY, |(_, high)| high as f64).min(2f64.powi(53));
    let numbers = x.floats().into_iter().map(|value| Num::exact(value.abs())).collect();
    let array = ArrayD::from_shape_vec(IxDyn(&x.shape), numbers).expect("a checked tensor has all its elements");
    lanes(&array, dims).1.iter().any(|lane| lane.iter().map(|x| x.value).sum::<f64>() > largest)
}

/// The shape that a reduction over `dims` leaves.
pub fn left(shape: &[usize], dims: &[usize], keepdim: bool) -> Vec<usize> {
    let kept = |(dim, &size): (usize, &usize)| match (dims.contains(&dim), keepdim) {
        (false, _) => Some(size),
        (true, true) => Some(1),
        (true, false) => None,
    };
    shape.iter().enumerate().filter_map(kept).collect()
}

/// The elements of `x` that share a place outside `dims`, and the shape of those places, with 1 for each of `dims`.
pub fn lanes(x: &ArrayD<Num>, dims: &[usize]) -> (Vec<usize>, Vec<Vec<Num>>) {
    let shape = left(x.shape(), dims, true);
    let mut lanes = vec![Vec::new(); shape.iter().product()];
    for (index, &value) in x.indexed_iter() {
        let place = |flat: usize, (&i, &n): (&usize, &usize)| flat * n + if n == 1 { 0 } else { i };
        lanes[index.slice().iter().zip(&shape).fold(0, place)].push(value);
    }
    (shape, lanes)
}

/// `f` of every lane of `x` along `dims`.
pub fn reduced(x: &ArrayD<Num>, dims: &[usize], keepdim: bool, f: impl Fn(&[Num]) -> Num) -> Vec<ArrayD<Num>> {
    let values = lanes(x, dims).1.iter().map(|lane| f(lane)).collect();
    let shape = left(x.shape(), dims, keepdim);
    vec![ArrayD::from_shape_vec(IxDyn(&shape), values).expect("one value per lane")]
}

/// Every element of `lane` replaced by the sum up to it, accumulated as [`Num::sum`] does.
pub fn accumulate<'a>(lane: impl Iterator<Item = &'a mut Num>) {
    let (mut total, mut count) = (Num::exact(0.0), 0.0);
    let (mut magnitude, mut slopes, mut inexact) = (0.0, 0.0, false);
    for slot in lane {
        let x = *slot;
        total = Num {
            value: total.value + x.value,
            error: total.error + x.error,
            slope: total.slope + x.slope,
            slope_error: total.slope_error + x.slope_error,
            peak: total.peak.max(x.peak),
            kink: total.kink || x.kink,
            unit: total.unit.max(x.unit),
        };
        magnitude += x.value.abs();
        slopes += x.slope.abs();
        inexact |= x.error != 0.0;
        count += 1.0;
        let wide = total.unit.min(SINGLE) * count;
        let known_limit = total.value.is_infinite() && !inexact;
        *slot = if known_limit {
            Num::exact(total.value)
        } else {
            Num::sum([Num {
                error: total.error + wide * if magnitude.is_finite() { magnitude } else { 0.0 },
                slope_error: total.slope_error + wide * slopes,
                peak: total.peak.max(if magnitude.is_finite() { magnitude.max(slopes) } else { 0.0 }),
                ..total
            }])
        };
    }
}
