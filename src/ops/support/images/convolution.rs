//! Convolutions over any number of dimensions.

use std::collections::BTreeMap;

use ndarray::{ArrayD, Dimension, IxDyn};

use crate::case::Case;
use crate::number::{Num, SINGLE};
use crate::tensor::for_each_index;

/// The params of a convolution, as candle gets them.
pub struct Window {
    /// The zeros on either side of each dimension.
    pub padding: usize,
    /// The step between windows.
    pub stride: usize,
    /// The step between elements of a window.
    pub dilation: usize,
    /// The groups of channels, each convolved by itself.
    pub groups: usize,
}

/// The [`Window`] of a case.
pub fn window(case: &Case) -> Window {
    Window {
        padding: case.size("padding"),
        stride: case.size("stride"),
        dilation: case.size("dilation"),
        // `conv_transpose2d` has none.
        groups: case.optional_size("groups").unwrap_or(1),
    }
}

/// The sum over every window of `x` times `kernel`.
pub fn convolve(x: &ArrayD<Num>, kernel: &ArrayD<Num>, window: &Window) -> ArrayD<Num> {
    let &Window { padding, stride, dilation, groups } = window;
    let spatial = x.ndim() - 2;
    let mut out = vec![x.shape()[0], kernel.shape()[0]];
    for d in 2..spatial + 2 {
        out.push((x.shape()[d] + 2 * padding - dilation * (kernel.shape()[d] - 1) - 1) / stride + 1);
    }
    let (inner, outer) = (kernel.shape()[1], kernel.shape()[0] / groups);
    let offsets = kernel.shape()[1..].to_vec();
    let value = |position: &[usize]| {
        let first_channel = position[1] / outer * inner;
        let mut products = Vec::new();
        for_each_index(&offsets, |offset| {
            let mut at = vec![position[0], first_channel + offset[0]];
            for d in 0..spatial {
                // Positions in the padding wrap far outside.
                at.push((position[d + 2] * stride + offset[d + 1] * dilation).wrapping_sub(padding));
            }
            let mut weight = vec![position[1]];
            weight.extend_from_slice(offset);
            let weight = kernel[weight.as_slice()];
            // The padding is zeros. Whether these are multiplied or left out matters only if the weight is not finite.
            let padding = Num { indeterminate: !weight.value.is_finite(), ..Num::exact(0.0) };
            products.push((x.get(at.as_slice()).copied().unwrap_or(padding), weight));
        });
        Num::dot(products)
    };
    ArrayD::from_shape_fn(IxDyn(&out), |position| value(position.slice()))
}

/// Every element of `x` times the kernel, added up where it lands: over channels in at least `f32`, and over the taps of the kernel in
/// the dtype, as the columns of PyTorch on the CPU. `output_padding` elements are appended.
pub fn convolve_transposed(
    x: &ArrayD<Num>,
    kernel: &ArrayD<Num>,
    window: &Window,
    output_padding: usize,
) -> ArrayD<Num> {
    let &Window { padding, stride, dilation, groups } = window;
    let spatial = x.ndim() - 2;
    let (inner, outer) = (x.shape()[1] / groups, kernel.shape()[1]);
    let mut out = vec![x.shape()[0], outer * groups];
    for d in 2..spatial + 2 {
        out.push((x.shape()[d] - 1) * stride + dilation * (kernel.shape()[d] - 1) + output_padding + 1 - 2 * padding);
    }
    let offsets = [&[inner], &kernel.shape()[2..]].concat();
    let value = |position: &[usize]| {
        let group = position[1] / outer;
        let (mut products, mut columns) = (Vec::new(), BTreeMap::<Vec<usize>, f64>::new());
        for_each_index(&offsets, |offset| {
            let channel = group * inner + offset[0];
            let mut at = vec![position[0], channel];
            for d in 0..spatial {
                // The element that the kernel's tap `offset[d + 1]` maps here, if any.
                let landed = (position[d + 2] + padding).checked_sub(offset[d + 1] * dilation);
                match landed.filter(|landed| landed % stride == 0) {
                    Some(landed) => at.push(landed / stride),
                    None => return,
                }
            }
            if let Some(&value) = x.get(at.as_slice()) {
                let weight = [&[channel, position[1] % outer], &offset[1..]].concat();
                let weight = kernel[weight.as_slice()];
                *columns.entry(offset[1..].to_vec()).or_default() += value.value * weight.value;
                products.push((value, weight));
            }
        });
        let sum = Num::dot(products);
        let size: f64 = columns.values().map(|column| column.abs()).sum();
        // Each partial sum of columns may be rounded to a dtype below f32.
        let rounded = if columns.len() > 1 && sum.unit > SINGLE { columns.len() as f64 * sum.unit * size } else { 0.0 };
        // A column that overflows is an infinity, and may meet another.
        let overflows = columns.len() > 1 && columns.values().any(|&column| sum.is_exceeded_by(column));
        Num { error: sum.error + rounded, indeterminate: sum.indeterminate || overflows, ..sum }
    };
    ArrayD::from_shape_fn(IxDyn(&out), |position| value(position.slice()))
}
