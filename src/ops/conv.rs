//! `conv1d` and `conv2d`, one reference for any number of spatial dimensions.

use ndarray::{ArrayD, Dimension, IxDyn};

use super::{Contract, Given, Op, why};
use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::tensor::{DType, Support, for_each_index};

/// `x (B, C, L)` with `kernel (O, C / groups, K)`.
pub static CONV1D: Op = Op {
    name: "tensor.conv1d",
    covers: &["Tensor::conv1d"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| generate(draw, 1),
    contract: |case| contract(case, 1),
    call: |call| {
        let (padding, stride) = (call.size("padding", 0), call.size("stride", 1));
        let (dilation, groups) = (call.size("dilation", 1), call.size("groups", 1));
        Ok(vec![call.tensor("x")?.conv1d(call.tensor("kernel")?, padding, stride, dilation, groups)?])
    },
    source: "x.conv1d(&kernel, padding, stride, dilation, groups)?",
    ..CONV
};

/// `x (B, C, H, W)` with `kernel (O, C / groups, KH, KW)`.
pub static CONV2D: Op = Op {
    name: "tensor.conv2d",
    covers: &["Tensor::conv2d"],
    support: &Support { of: "x", cpu: &[DType::F32, DType::F64, DType::F16], cuda: &DType::FLOATS },
    generate: |draw| generate(draw, 2),
    contract: |case| contract(case, 2),
    call: |call| {
        let (padding, stride) = (call.size("padding", 0), call.size("stride", 1));
        let (dilation, groups) = (call.size("dilation", 1), call.size("groups", 1));
        Ok(vec![call.tensor("x")?.conv2d(call.tensor("kernel")?, padding, stride, dilation, groups)?])
    },
    source: "x.conv2d(&kernel, padding, stride, dilation, groups)?",
    ..CONV
};

/// What both share.
const CONV: Op = Op {
    name: "",
    covers: &[],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| generate(draw, 1),
    contract: |case| contract(case, 1),
    call: |_| Ok(Vec::new()),
    source: "",
    reference: Some(reference),
    ulps: 4.0,
    differentiable: &["kernel", "x"],
    promise: "candle-core/src/conv.rs:135-200, 276-337; torch.nn.functional.conv1d and conv2d: in-channels divisible by \
              groups, and out-channels too",
};

fn generate(draw: &mut Draw, spatial: usize) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(CONV1D.support)?;
    let groups = *draw.choose(&[1, 1, 1, 2, 3])?;
    let (batch, inner, outer) = (draw.between(1, 3)?, draw.between(1, 3)?, draw.between(1, 3)?);
    let (padding, stride, dilation) = (draw.between(0, 2)?, draw.between(1, 3)?, *draw.choose(&[1, 1, 2])?);
    let (mut x, mut kernel) = (vec![batch, inner * groups], vec![outer * groups, inner]);
    for _ in 0..spatial {
        let size = draw.between(1, 3)?;
        let reach = dilation * (size - 1) + 1;
        let least = reach.saturating_sub(2 * padding).max(1);
        x.push(draw.positive()?.max(least));
        kernel.push(size);
    }
    let (x, kernel) = (draw.tensor(dtype, &x)?, draw.tensor(dtype, &kernel)?);
    let mut case = Case::default().input("x", x).input("kernel", kernel);
    case.backward = draw.backward()?;
    let case = case.param("padding", padding).param("stride", stride);
    Ok(case.param("dilation", dilation).param("groups", groups))
}

/// The params as candle gets them.
struct Shape {
    padding: usize,
    stride: usize,
    dilation: usize,
    groups: usize,
}

fn shape(case: &Case) -> Shape {
    let size = |name, default| usize::try_from(case.int(name, default)).unwrap_or(0);
    Shape {
        padding: size("padding", 0),
        stride: size("stride", 1),
        dilation: size("dilation", 1),
        groups: size("groups", 1),
    }
}

fn contract(case: &Case, spatial: usize) -> Contract {
    let (Some(x), Some(kernel)) = (case.tensor("x"), case.tensor("kernel")) else {
        return Contract::Rejects(why::SHAPES);
    };
    if x.shape.len() != spatial + 2 || kernel.shape.len() != spatial + 2 {
        return Contract::Rejects(why::RANK);
    }
    let Shape { padding, stride, dilation, groups } = shape(case);
    if groups == 0 || stride == 0 {
        return Contract::Rejects("a stride or number of groups of 0");
    }
    if kernel.shape[1].checked_mul(groups) != Some(x.shape[1]) {
        return Contract::Rejects("the kernel has other channels");
    }
    if kernel.shape[0] % groups != 0 {
        return Contract::Rejects("groups do not divide the channels");
    }
    if x.dtype != kernel.dtype {
        return Contract::Rejects(why::MIXED);
    }
    if dilation == 0 {
        return Contract::Unspecified("a dilation of 0");
    }
    if x.shape.contains(&0) || kernel.shape.contains(&0) {
        return Contract::Unspecified("a convolution of nothing");
    }
    let mut out = vec![x.shape[0], kernel.shape[0]];
    for (&size, &k) in x.shape[2..].iter().zip(&kernel.shape[2..]) {
        let Some(padded) = padding.checked_mul(2).and_then(|both| both.checked_add(size)) else {
            return Contract::Rejects("the padding overflows");
        };
        let reach = dilation.checked_mul(k - 1).and_then(|reach| reach.checked_add(1));
        match reach.and_then(|reach| padded.checked_sub(reach)) {
            Some(room) => out.push(room / stride + 1),
            None => return Contract::Rejects("the kernel is larger than the padded input"),
        }
    }
    // Candle unrolls every window (im2col): the memory is windows times kernel.
    let unrolled = crate::tensor::product(&[&out[..], &kernel.shape[1..]].concat());
    if unrolled.is_none_or(|n| n > 1 << 22) || padding > 1 << 20 {
        return Contract::Unspecified("an output too large to try");
    }
    Contract::accepts(x.dtype, &out)
}

fn reference(given: &Given) -> Vec<ArrayD<Num>> {
    let (x, kernel) = (given.array("x"), given.array("kernel"));
    let Shape { padding, stride, dilation, groups } = shape(given.case);
    let spatial = x.ndim() - 2;
    let mut out = vec![x.shape()[0], kernel.shape()[0]];
    for d in 2..spatial + 2 {
        out.push((x.shape()[d] + 2 * padding - dilation * (kernel.shape()[d] - 1) - 1) / stride + 1);
    }
    let (inner, outer) = (kernel.shape()[1], kernel.shape()[0] / groups);
    let window = kernel.shape()[1..].to_vec();
    let value = |place: &[usize]| {
        let first_channel = place[1] / outer * inner;
        let mut products = Vec::new();
        for_each_index(&window, |offset| {
            let mut at = vec![place[0], first_channel + offset[0]];
            for d in 0..spatial {
                // Positions in the padding wrap far outside.
                at.push((place[d + 2] * stride + offset[d + 1] * dilation).wrapping_sub(padding));
            }
            // The padding is zeros, and a zero times NaN is NaN.
            let value = x.get(at.as_slice()).copied().unwrap_or(Num::exact(0.0));
            let mut weight = vec![place[1]];
            weight.extend_from_slice(offset);
            products.push(value * kernel[weight.as_slice()]);
        });
        Num::sum(products)
    };
    vec![ArrayD::from_shape_fn(IxDyn(&out), |place| value(place.slice()))]
}
