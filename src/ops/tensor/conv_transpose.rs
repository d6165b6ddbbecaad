//! `conv_transpose1d` and `conv_transpose2d`, one reference for any number of spatial dimensions.

use ndarray::ArrayD;

use crate::case::{Case, InputSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::arguments::{DILATION, GROUPS, OUTPUT_PADDING, PADDING, STRIDE};
use crate::ops::support::images::convolution::{Window, convolve_transposed, window};
use crate::ops::{Contract, Op, ReferenceInputs, Rule, rule, why};
use crate::tensor::{DType, Support, Tensor, product};

/// `x (B, C, L)` with `kernel (C, O / groups, K)`.
pub static CONV_TRANSPOSE1D: Op = Op {
    name: "tensor.conv_transpose1d",
    covers: &["Tensor::conv_transpose1d"],
    support: &Support::both("x", &DType::FLOATS),
    inputs: &[InputSpec::new("x", "(B, C, L)"), InputSpec::new("kernel", "(C, O / groups, K)")],
    params: &[DILATION, GROUPS, OUTPUT_PADDING, PADDING, STRIDE],
    generate: &|draw| generate(draw, 1),
    contract: &|case| contract(case, 1),
    call: &|call| {
        let Window { padding, stride, dilation, groups } = window(call.case);
        let (kernel, output_padding) = (call.tensor("kernel")?, call.size("output_padding"));
        Ok(vec![call.tensor("x")?.conv_transpose1d(kernel, padding, output_padding, stride, dilation, groups)?])
    },
    source: r"
        x.conv_transpose1d(&kernel, {{ padding }}, {{ output_padding }}, {{ stride }}, {{ dilation }}, {{ groups }})?
    ",
    torch: r#"F.conv_transpose1d(x, kernel, None, {% include "transpose" %})"#,
    reference: Some(&transpose_reference),
    ulps: 4.0,
    differentiable: &["kernel", "x"],
    promise: TRANSPOSE_PROMISE,
};

/// `x (B, C, H, W)` with `kernel (C, O, KH, KW)`.
pub static CONV_TRANSPOSE2D: Op = Op {
    name: "tensor.conv_transpose2d",
    covers: &["Tensor::conv_transpose2d"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD_BUT_I64 },
    inputs: &[InputSpec::new("x", "(B, C, H, W)"), InputSpec::new("kernel", "(C, O, KH, KW)")],
    params: &[DILATION, OUTPUT_PADDING, PADDING, STRIDE],
    generate: &|draw| generate(draw, 2),
    contract: &|case| contract(case, 2),
    call: &|call| {
        let Window { padding, stride, dilation, .. } = window(call.case);
        let (kernel, output_padding) = (call.tensor("kernel")?, call.size("output_padding"));
        Ok(vec![call.tensor("x")?.conv_transpose2d(kernel, padding, output_padding, stride, dilation)?])
    },
    source: r"
        x.conv_transpose2d(&kernel, {{ padding }}, {{ output_padding }}, {{ stride }}, {{ dilation }})?
    ",
    torch: r#"F.conv_transpose2d(x, kernel, None, {% include "transpose" %})"#,
    reference: Some(&transpose_reference),
    ulps: 4.0,
    differentiable: &["kernel", "x"],
    promise: TRANSPOSE_PROMISE,
};

/// Where the contract of these ops comes from.
pub const TRANSPOSE_PROMISE: &str = "candle-core/src/conv.rs:31-56, 112-132, 204-274, 340-390; \
    torch.nn.functional.conv_transpose1d and conv_transpose2d: in-channels divisible by groups, an output padding \
    below stride or dilation, an output of at least one element";

fn transpose_reference(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let output_padding = inputs.case.size("output_padding");
    vec![convolve_transposed(&inputs.array("x"), &inputs.array("kernel"), &window(inputs.case), output_padding)]
}

/// A case with `x` and `kernel`.
pub fn generate(draw: &mut Draw, spatial: usize) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(if spatial == 1 { CONV_TRANSPOSE1D.support } else { CONV_TRANSPOSE2D.support })?;
    let groups = if spatial == 1 { *draw.choose(&[1, 1, 1, 2, 3])? } else { 1 };
    let (batch, inner, outer) = (draw.between(1, 3)?, draw.between(1, 3)?, draw.between(1, 3)?);
    let (stride, dilation) = (draw.between(1, 3)?, *draw.choose(&[1, 1, 2])?);
    let output_padding = if draw.one_in(3)? { draw.between(0, stride.max(dilation) - 1)? } else { 0 };
    let (mut x, mut kernel) = (vec![batch, inner * groups], vec![inner * groups, outer]);
    let mut padding = if draw.one_in(2)? { 0 } else { draw.between(1, 2)? };
    for _ in 0..spatial {
        let (size, taps) = (draw.positive()?, draw.between(1, 3)?);
        // The padding must leave one element.
        padding = padding.min(((size - 1) * stride + dilation * (taps - 1) + output_padding) / 2);
        x.push(size);
        kernel.push(taps);
    }
    // Sums of integers must fit their dtype.
    let values = |draw: &mut Draw, shape: &[usize]| {
        if dtype.is_float() { draw.tensor(dtype, shape) } else { draw.ids(dtype, shape, 3) }
    };
    let (x, kernel) = (values(draw, &x)?, values(draw, &kernel)?);
    let mut case = Case::default().input("x", x).input("kernel", kernel);
    case.backward = draw.backward()?;
    let case = case.param("padding", padding).param("output_padding", output_padding).param("stride", stride);
    let case = case.param("dilation", dilation);
    Ok(if spatial == 1 { case.param("groups", groups) } else { case })
}

/// The contract of a transposed convolution over `spatial` dimensions.
pub fn contract(case: &Case, spatial: usize) -> Contract {
    let (Some(x), Some(kernel)) = (case.tensor("x"), case.tensor("kernel")) else {
        return Contract::Rejects(&rule::SHAPES);
    };
    if x.shape.len() != spatial + 2 || kernel.shape.len() != spatial + 2 {
        return Contract::Rejects(&rule::RANK);
    }
    let Window { stride, dilation, groups, .. } = window(case);
    if groups == 0 || stride == 0 {
        return Contract::Rejects(&rule::CONV_ZERO);
    }
    if kernel.shape[0] != x.shape[1] {
        return Contract::Rejects(&rule::CHANNELS);
    }
    if kernel.shape[0] % groups != 0 {
        return Contract::Rejects(&rule::GROUPS);
    }
    if x.dtype != kernel.dtype {
        return Contract::Rejects(&rule::MIXED);
    }
    if dilation == 0 {
        return Contract::Rejects(&rule::ZERO_DILATION);
    }
    if case.size("output_padding") >= stride.max(dilation) {
        return Contract::Rejects(&rule::OUTPUT_PADDING);
    }
    if x.shape[1..].contains(&0) || kernel.shape.contains(&0) {
        return Contract::Unspecified("a convolution without channels, pixels or taps");
    }
    let sizes = x.shape[2..].iter().zip(&kernel.shape[2..]).map(|(&n, &k)| output_size(case, n, k));
    let spatial: Vec<usize> = match sizes.collect() {
        Ok(spatial) => spatial,
        Err(rule) => return Contract::Rejects(rule),
    };
    let out = [&[x.shape[0], kernel.shape[1].saturating_mul(groups)], &spatial[..]].concat();
    let work = product(&[&out[..], &kernel.shape[2..], &[x.shape[1]]].concat());
    if work.is_none_or(|n| n > 1 << 20) {
        return Contract::Unspecified(why::TOO_LARGE);
    }
    // An output is a sum over all channels and taps.
    if overflows(x, kernel, product(&kernel.shape).map_or(usize::MAX, |all| all / kernel.shape[1])) {
        return Contract::Unspecified(why::OVERFLOW);
    }
    Contract::accepts(x.dtype, &out)
}

/// The output's size along a dimension of `n` elements and `taps` of the kernel, or the rule that leaves it none.
fn output_size(case: &Case, n: usize, taps: usize) -> Result<usize, &'static Rule> {
    let Window { padding, stride, dilation, .. } = window(case);
    let whole = || {
        let spread = (n - 1).checked_mul(stride)?.checked_add(dilation.checked_mul(taps - 1)?)?;
        spread.checked_add(case.size("output_padding"))?.checked_add(1)
    };
    let whole = whole().ok_or(&rule::TOO_MANY)?;
    let cut = padding.checked_mul(2).and_then(|both| whole.checked_sub(both));
    cut.filter(|&size| size > 0).ok_or(&rule::NO_OUTPUT)
}

/// Whether a sum of `terms` products of two integer tensors may leave their dtype.
fn overflows(x: &Tensor, kernel: &Tensor, terms: usize) -> bool {
    let largest = |tensor: &Tensor| tensor.floats().into_iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    !x.dtype.is_float() && largest(x) * largest(kernel) * terms as f64 > x.dtype.max()
}
