//! Values at the limits of dtypes, and of functions that ops use.

use crate::tensor::{DType, Format};

/// The ends of the range of an integer dtype, its middle, and the first integers that a conversion to `f32`, `f64` or `i32` changes.
pub fn integers(dtype: DType) -> Vec<i64> {
    let (low, high) = dtype.int_range().unwrap_or((0, 1));
    let mut values = vec![0, 1, low, high, high - 1, high / 2, (1 << 24) + 1, (1 << 53) + 1, 1 << 31, low + 1];
    values.retain(|value| (low..=high).contains(value));
    values
}

/// The sizes of such floats of `dtype`, which has this format.
pub fn magnitudes(dtype: DType, format: Format) -> Vec<f64> {
    let (normal, smallest) = (f64::from(format.min_exponent).exp2(), dtype.smallest());
    let (unit, integers) = (dtype.unit_roundoff(), f64::from(format.precision).exp2());
    vec![
        0.0,
        smallest,
        3.0 * smallest,
        // The largest subnormal number, and the smallest normal one.
        normal - smallest,
        normal,
        1.0,
        1.0 + 2.0 * unit,
        // The integers around the first that the dtype skips; in `f64`, also one that `f32` skips.
        integers - 1.0,
        (integers + 2.0).min(format.max),
        if dtype == DType::F64 { 16_777_217.0 } else { 3.0 },
        0.5,
        2048.0,
        11.0,
        88.0,
        100.0,
        format.max.sqrt(),
        format.max * (1.0 - unit),
        format.max,
        f64::INFINITY,
        f64::NAN,
    ]
}
