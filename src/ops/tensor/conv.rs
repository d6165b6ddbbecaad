//! `conv1d` and `conv2d`, one reference for any number of spatial dimensions.

use candle_core::conv::CudnnFwdAlgo;
use ndarray::ArrayD;

use crate::case::{Case, InputSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::arguments::{ALGORITHM, DILATION, GROUPS, PADDING, STRIDE};
use crate::ops::support::images::convolution::{Window, convolve, window};
use crate::ops::{Contract, Op, ReferenceInputs, rule, why};
use crate::tensor::{DType, Support};

/// `x (B, C, L)` with `kernel (O, C / groups, K)`.
pub static CONV1D: Op = Op {
    name: "tensor.conv1d",
    covers: &["Tensor::conv1d", "Tensor::conv1d_with_algo"],
    support: &Support::both("x", &DType::FLOATS),
    inputs: &[InputSpec::new("x", "(B, C, L)"), InputSpec::new("kernel", "(O, C / groups, K)")],
    params: &[ALGORITHM, DILATION, GROUPS, PADDING, STRIDE],
    generate: &|draw| generate(draw, 1),
    contract: &|case| contract(case, 1),
    call: &|call| {
        let (x, kernel, Window { padding, stride, dilation, groups }) =
            (call.tensor("x")?, call.tensor("kernel")?, window(call.case));
        Ok(vec![match algo(call.case) {
            None => x.conv1d(kernel, padding, stride, dilation, groups)?,
            algo => x.conv1d_with_algo(kernel, padding, stride, dilation, groups, algo)?,
        }])
    },
    source: r#"
        {% set window = [padding, stride, dilation, groups]|join(", ") %}
        {% if algo %}
        x.conv1d_with_algo(&kernel, {{ window }}, {% include "algo" %})?
        {% else %}
        x.conv1d(&kernel, {{ window }})?
        {% endif %}
    "#,
    torch: "F.conv1d(x, kernel, {% include 'window' %})",
    reference: Some(&conv_reference),
    ulps: 4.0,
    differentiable: &["kernel", "x"],
    promise: CONV_PROMISE,
};

/// `x (B, C, H, W)` with `kernel (O, C / groups, KH, KW)`.
pub static CONV2D: Op = Op {
    name: "tensor.conv2d",
    covers: &["Tensor::conv2d", "Tensor::conv2d_with_algo"],
    support: &Support { of: "x", cpu: &[DType::F32, DType::F64, DType::F16], cuda: &DType::FLOATS },
    inputs: &[InputSpec::new("x", "(B, C, H, W)"), InputSpec::new("kernel", "(O, C / groups, KH, KW)")],
    params: &[ALGORITHM, DILATION, GROUPS, PADDING, STRIDE],
    generate: &|draw| generate(draw, 2),
    contract: &|case| contract(case, 2),
    call: &|call| {
        let (x, kernel, Window { padding, stride, dilation, groups }) =
            (call.tensor("x")?, call.tensor("kernel")?, window(call.case));
        Ok(vec![match algo(call.case) {
            None => x.conv2d(kernel, padding, stride, dilation, groups)?,
            algo => x.conv2d_with_algo(kernel, padding, stride, dilation, groups, algo)?,
        }])
    },
    source: r#"
        {% set window = [padding, stride, dilation, groups]|join(", ") %}
        {% if algo %}
        x.conv2d_with_algo(&kernel, {{ window }}, {% include "algo" %})?
        {% else %}
        x.conv2d(&kernel, {{ window }})?
        {% endif %}
    "#,
    torch: "F.conv2d(x, kernel, {% include 'window' %})",
    reference: Some(&conv_reference),
    ulps: 4.0,
    differentiable: &["kernel", "x"],
    promise: CONV_PROMISE,
};

/// Where the contract of these ops comes from.
pub const CONV_PROMISE: &str = "candle-core/src/conv.rs:135-200, 276-337; torch.nn.functional.conv1d and conv2d: \
    in-channels divisible by groups, and out-channels too";

fn conv_reference(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    vec![convolve(&inputs.array("x"), &inputs.array("kernel"), &window(inputs.case))]
}

/// A case with `x` and `kernel`.
pub fn generate(draw: &mut Draw, spatial: usize) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(if spatial == 1 { CONV1D.support } else { CONV2D.support })?;
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
    if draw.one_in(4)? {
        case = case.param("algo", draw.choose(&ALGORITHMS)?.0);
    }
    let case = case.param("padding", padding).param("stride", stride);
    Ok(case.param("dilation", dilation).param("groups", groups))
}

/// The algorithms that cuDNN may be asked for; without cuDNN they have no effect.
const ALGORITHMS: [(&str, CudnnFwdAlgo); 3] =
    [("direct", CudnnFwdAlgo::Direct), ("gemm", CudnnFwdAlgo::Gemm), ("implicit gemm", CudnnFwdAlgo::ImplicitGemm)];

/// The algorithm that the param `algo` names.
pub fn algo(case: &Case) -> Option<CudnnFwdAlgo> {
    ALGORITHMS.into_iter().find(|(name, _)| *name == case.text("algo")).map(|(_, algo)| algo)
}

/// The contract of a convolution over `spatial` dimensions.
pub fn contract(case: &Case, spatial: usize) -> Contract {
    let (Some(x), Some(kernel)) = (case.tensor("x"), case.tensor("kernel")) else {
        return Contract::Rejects(&rule::SHAPES);
    };
    if x.shape.len() != spatial + 2 || kernel.shape.len() != spatial + 2 {
        return Contract::Rejects(&rule::RANK);
    }
    let Window { padding, stride, dilation, groups } = window(case);
    if groups == 0 || stride == 0 {
        return Contract::Rejects(&rule::CONV_ZERO);
    }
    if kernel.shape[1].checked_mul(groups).is_none() {
        return Contract::Unspecified("a number of channels that overflows");
    }
    if kernel.shape[1].checked_mul(groups) != Some(x.shape[1]) {
        return Contract::Rejects(&rule::CHANNELS);
    }
    if kernel.shape[0] % groups != 0 {
        return Contract::Rejects(&rule::GROUPS);
    }
    if x.dtype != kernel.dtype {
        return Contract::Rejects(&rule::MIXED);
    }
    if dilation == 0 {
        // PyTorch checks it only where there is a batch.
        let nothing = Contract::Unspecified("a dilation of 0 for an empty batch");
        return if x.shape[0] == 0 { nothing } else { Contract::Rejects(&rule::ZERO_DILATION) };
    }
    if x.shape[1..].contains(&0) || kernel.shape.contains(&0) {
        return Contract::Unspecified("a convolution without channels, pixels or taps");
    }
    let mut out = vec![x.shape[0], kernel.shape[0]];
    for (&size, &k) in x.shape[2..].iter().zip(&kernel.shape[2..]) {
        let Some(padded) = padding.checked_mul(2).and_then(|both| both.checked_add(size)) else {
            return Contract::Rejects(&rule::PADDING);
        };
        let reach = dilation.checked_mul(k - 1).and_then(|reach| reach.checked_add(1));
        match reach.and_then(|reach| padded.checked_sub(reach)) {
            Some(room) => out.push(room / stride + 1),
            None => return Contract::Rejects(&rule::CONV_KERNEL),
        }
    }
    // Candle unrolls every window (im2col): the memory is windows times kernel.
    let unrolled = crate::tensor::product(&[&out[..], &kernel.shape[1..]].concat());
    if unrolled.is_none_or(|n| n > 1 << 22) {
        return Contract::Unspecified(why::TOO_LARGE);
    }
    Contract::accepts(x.dtype, &out)
}
