//! The layers `Conv1d`, `Conv2d`, `ConvTranspose1d` and `ConvTranspose2d`, made from their tensors or by a builder.

use std::collections::HashMap;

use candle_core::Module;
use candle_nn::{
    BatchNorm, Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, ConvTranspose1d, ConvTranspose1dConfig, ConvTranspose2d,
    ConvTranspose2dConfig, VarBuilder,
};
use ndarray::{ArrayD, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::call::size_or;
use crate::ops::support::convolution::{Window, convolve, convolve_transposed, window};
use crate::ops::tensor::{conv, conv_transpose};
use crate::ops::{Call, Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support, Tensor, Value};

/// `conv1d` and a bias per channel.
pub static CONV1D: Op = Op {
    name: "layer.conv1d",
    covers: &["Conv1d", "Conv1dConfig", "conv::conv1d", "conv::conv1d_no_bias"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| generate(draw, conv::generate, 1),
    contract: |case| contract(case, conv::contract, 1),
    call: |call| {
        let Window { padding, stride, dilation, groups } = window(call.case);
        let config = Conv1dConfig { padding, stride, dilation, groups, cudnn_fwd_algo: conv::algo(call.case) };
        let Parts { kernel, bias, built } = parts(call)?;
        let layer = match built {
            None => Conv1d::new(kernel, bias, config),
            Some(vb) => {
                let (outer, inner, taps) = kernel.dims3()?;
                let make = if bias.is_some() { candle_nn::conv1d } else { candle_nn::conv1d_no_bias };
                make(inner.saturating_mul(groups), outer, taps, config, vb)?
            }
        };
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: r#"
        let config = candle_nn::Conv1dConfig { {% include "config" %} };
        {% if form == "built" %}
        {% set outer, inner, taps = inputs.kernel.shape %}
        {% set make = "conv1d" if inputs.bias else "conv1d_no_bias" %}
        {% include "builder" %}
        candle_nn::{{ make }}({{ inner * groups|default(1) }}, {{ outer }}, {{ taps }}, config, vb)?.forward(&x)?
        {% else %}
        candle_nn::Conv1d::new(kernel, {{ "Some(bias)" if inputs.bias else "None" }}, config).forward(&x)?
        {% endif %}
    "#,
    torch: r#"F.conv1d(x, kernel, {{ "bias" if inputs.bias else "None" }}, {% include "window" %})"#,
    reference: Some(convolved),
    ulps: 4.0,
    differentiable: &["bias", "kernel", "x"],
    promise: LAYER_PROMISE,
};

/// `conv2d` and a bias per channel.
pub static CONV2D: Op = Op {
    name: "layer.conv2d",
    covers: &["Conv2d", "Conv2dConfig", "conv::conv2d", "conv::conv2d_no_bias"],
    support: conv::CONV2D.support,
    generate: |draw| generate(draw, conv::generate, 2),
    contract: |case| contract(case, conv::contract, 2),
    call: |call| {
        let Parts { kernel, bias, built } = parts(call)?;
        let config = config2d(call.case);
        let layer = match built {
            None => Conv2d::new(kernel, bias, config),
            Some(vb) => {
                let (outer, inner, taps, _) = kernel.dims4()?;
                let make = if bias.is_some() { candle_nn::conv2d } else { candle_nn::conv2d_no_bias };
                make(inner.saturating_mul(config.groups), outer, taps, config, vb)?
            }
        };
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: r#"
        let config = candle_nn::Conv2dConfig { {% include "config" %} };
        {% if form == "built" %}
        {% set outer, inner, taps, _ = inputs.kernel.shape %}
        {% set make = "conv2d" if inputs.bias else "conv2d_no_bias" %}
        {% include "builder" %}
        candle_nn::{{ make }}({{ inner * groups|default(1) }}, {{ outer }}, {{ taps }}, config, vb)?.forward(&x)?
        {% else %}
        candle_nn::Conv2d::new(kernel, {{ "Some(bias)" if inputs.bias else "None" }}, config).forward(&x)?
        {% endif %}
    "#,
    torch: r#"F.conv2d(x, kernel, {{ "bias" if inputs.bias else "None" }}, {% include "window" %})"#,
    reference: Some(convolved),
    ulps: 4.0,
    differentiable: &["bias", "kernel", "x"],
    promise: LAYER_PROMISE,
};

/// `conv_transpose1d` and a bias per channel.
pub static CONV_TRANSPOSE1D: Op = Op {
    name: "layer.conv_transpose1d",
    covers: &["ConvTranspose1d", "ConvTranspose1dConfig", "conv::conv_transpose1d", "conv::conv_transpose1d_no_bias"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| generate(draw, conv_transpose::generate, 1),
    contract: |case| contract(case, conv_transpose::contract, 1),
    call: |call| {
        let Window { padding, stride, dilation, groups } = window(call.case);
        let output_padding = call.size("output_padding", 0);
        let config = ConvTranspose1dConfig { padding, output_padding, stride, dilation, groups };
        let Parts { kernel, bias, built } = parts(call)?;
        let layer = match built {
            None => ConvTranspose1d::new(kernel, bias, config),
            Some(vb) => {
                let (inner, outer, taps) = kernel.dims3()?;
                let make =
                    if bias.is_some() { candle_nn::conv_transpose1d } else { candle_nn::conv_transpose1d_no_bias };
                make(inner, outer.saturating_mul(groups), taps, config, vb)?
            }
        };
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: r#"
        let config = candle_nn::ConvTranspose1dConfig { {% include "transpose" %}, groups: {{ groups|default(1) }} };
        {% if form == "built" %}
        {% set inner, outer, taps = inputs.kernel.shape %}
        {% set make = "conv_transpose1d" if inputs.bias else "conv_transpose1d_no_bias" %}
        {% include "builder" %}
        candle_nn::{{ make }}({{ inner }}, {{ outer * groups|default(1) }}, {{ taps }}, config, vb)?.forward(&x)?
        {% else %}
        candle_nn::ConvTranspose1d::new(kernel, {{ "Some(bias)" if inputs.bias else "None" }}, config).forward(&x)?
        {% endif %}
    "#,
    torch: r#"F.conv_transpose1d(x, kernel, {{ "bias" if inputs.bias else "None" }}, {% include "transpose" %})"#,
    reference: Some(transposed),
    ulps: 4.0,
    differentiable: &["bias", "kernel", "x"],
    promise: LAYER_PROMISE,
};

/// `conv_transpose2d` and a bias per channel.
pub static CONV_TRANSPOSE2D: Op = Op {
    name: "layer.conv_transpose2d",
    covers: &["ConvTranspose2d", "ConvTranspose2dConfig", "conv::conv_transpose2d", "conv::conv_transpose2d_no_bias"],
    support: conv_transpose::CONV_TRANSPOSE2D.support,
    generate: |draw| generate(draw, conv_transpose::generate, 2),
    contract: |case| contract(case, conv_transpose::contract, 2),
    call: |call| {
        let Window { padding, stride, dilation, .. } = window(call.case);
        let output_padding = call.size("output_padding", 0);
        let config = ConvTranspose2dConfig { padding, output_padding, stride, dilation };
        let Parts { kernel, bias, built } = parts(call)?;
        let layer = match built {
            None => ConvTranspose2d::new(kernel, bias, config),
            Some(vb) => {
                let (inner, outer, taps, _) = kernel.dims4()?;
                let make =
                    if bias.is_some() { candle_nn::conv_transpose2d } else { candle_nn::conv_transpose2d_no_bias };
                make(inner, outer, taps, config, vb)?
            }
        };
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: r#"
        let config = candle_nn::ConvTranspose2dConfig { {% include "transpose" %} };
        {% if form == "built" %}
        {% set inner, outer, taps, _ = inputs.kernel.shape %}
        {% set make = "conv_transpose2d" if inputs.bias else "conv_transpose2d_no_bias" %}
        {% include "builder" %}
        candle_nn::{{ make }}({{ inner }}, {{ outer }}, {{ taps }}, config, vb)?.forward(&x)?
        {% else %}
        candle_nn::ConvTranspose2d::new(kernel, {{ "Some(bias)" if inputs.bias else "None" }}, config).forward(&x)?
        {% endif %}
    "#,
    torch: r#"F.conv_transpose2d(x, kernel, {{ "bias" if inputs.bias else "None" }}, {% include "transpose" %})"#,
    reference: Some(transposed),
    ulps: 4.0,
    differentiable: &["bias", "kernel", "x"],
    promise: LAYER_PROMISE,
};

/// `conv2d.absorb_bn(&batch_norm)`: one convolution that does what the convolution and the normalization do.
pub static ABSORB_BN: Op = Op {
    name: "layer.conv2d_absorb_bn",
    covers: &["Conv2d::absorb_bn"],
    support: conv::CONV2D.support,
    generate: |draw| {
        let mut case = generate(draw, conv::generate, 2)?;
        case.params.remove("form");
        let (dtype, channels) = (case.inputs["x"].dtype, case.inputs["kernel"].shape[0]);
        for name in ["beta", "gamma", "mean"] {
            case = case.input(name, draw.tensor(dtype, &[channels])?);
        }
        let variances = [0.25, 0.5, 1.0, 2.0, 3.0];
        let variance = |draw: &mut Draw| Ok(Value::of(dtype, *draw.choose(&variances)?));
        let variance = (0..channels).map(|_| variance(draw)).collect::<arbitrary::Result<_>>()?;
        let eps = *draw.choose(&[1e-5, 1e-3, 1.0])?;
        Ok(case.input("variance", Tensor::new(dtype, vec![channels], variance)).param("eps", eps))
    },
    contract: |case| {
        let layer = contract(case, conv::contract, 2);
        let Contract::Accepts { .. } = layer else { return layer };
        if case.inputs.values().any(|tensor| !tensor.dtype.is_float()) {
            return Contract::Unspecified("the normalization of integers");
        }
        let (Some(x), Some(kernel)) = (case.tensor("x"), case.tensor("kernel")) else { return layer };
        for name in ["beta", "gamma", "mean", "variance"] {
            match case.tensor(name) {
                Some(tensor) if tensor.shape != [kernel.shape[0]] => return Contract::Rejects(why::SHAPES),
                Some(tensor) if tensor.dtype != x.dtype => return Contract::Rejects(why::MIXED),
                Some(tensor) if name == "variance" && tensor.floats().into_iter().any(|v| v < 0.0 || v.is_nan()) => {
                    return Contract::Unspecified("a variance that is none");
                }
                Some(_) => {}
                None => return Contract::Rejects(why::SHAPES),
            }
        }
        let eps = case.float("eps", 1e-5);
        if !(1e-8..1e3).contains(&eps) {
            return Contract::Unspecified("eps is no small positive number");
        }
        layer
    },
    call: |call| {
        let [beta, gamma, mean, variance] =
            ["beta", "gamma", "mean", "variance"].map(|name| call.tensor(name).cloned());
        let (eps, gamma) = (call.case.float("eps", 1e-5), gamma?);
        let norm = BatchNorm::new(gamma.elem_count(), mean?, variance?, gamma, beta?, eps)?;
        let Parts { kernel, bias, .. } = parts(call)?;
        let layer = Conv2d::new(kernel, bias, config2d(call.case)).absorb_bn(&norm)?;
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: r#"
        {% set channels, bias = inputs.gamma.shape[0], "Some(bias)" if inputs.bias else "None" %}
        let config = candle_nn::Conv2dConfig { {% include "config" %} };
        let norm = candle_nn::BatchNorm::new({{ channels }}, mean, variance, gamma, beta, {{ eps|default("1e-5") }})?;
        candle_nn::Conv2d::new(kernel, {{ bias }}, config).absorb_bn(&norm)?.forward(&x)?
    "#,
    torch: r#"
        {% set bias = "bias" if inputs.bias else "None" %}
        out = F.conv2d(x, kernel, {{ bias }}, {% include "window" %})
        F.batch_norm(out, mean, variance, gamma, beta, eps={{ eps|default("1e-5") }})
    "#,
    reference: Some(|inputs| {
        let [beta, gamma, mean, variance] = ["beta", "gamma", "mean", "variance"].map(|name| inputs.array(name));
        let eps = Num::exact(inputs.case.float("eps", 1e-5));
        let scale: Vec<Num> = gamma.iter().zip(&variance).map(|(&gamma, &v)| gamma / (v + eps).sqrt()).collect();
        let mut kernel = inputs.array("kernel");
        for (mut part, &scale) in kernel.outer_iter_mut().zip(&scale) {
            part.mapv_inplace(|weight| weight * scale);
        }
        let bias = inputs.optional("bias");
        let shift = ArrayD::from_shape_fn(IxDyn(&[scale.len()]), |at| {
            let bias = bias.as_ref().map_or(Num::exact(0.0), |bias| bias[[at[0]]]);
            beta[[at[0]]] + scale[at[0]] * (bias - mean[[at[0]]])
        });
        vec![shifted(convolve(&inputs.array("x"), &kernel, &window(inputs.case)), Some(&shift))]
    }),
    ulps: 8.0,
    differentiable: &["beta", "bias", "kernel", "x"],
    promise: "candle-nn/src/conv.rs:186-207; candle-nn/tests/batch_norm.rs; torch.nn.utils.fuse_conv_bn_eval",
};

/// Where the contract of these ops comes from.
pub const LAYER_PROMISE: &str =
    "candle-nn/src/conv.rs; what the function of the same name promises; torch.nn.Conv1d and its kin";

fn config2d(case: &Case) -> Conv2dConfig {
    let Window { padding, stride, dilation, groups } = window(case);
    Conv2dConfig { padding, stride, dilation, groups, cudnn_fwd_algo: conv::algo(case) }
}

fn generate(
    draw: &mut Draw,
    function: fn(&mut Draw, usize) -> arbitrary::Result<Case>,
    spatial: usize,
) -> arbitrary::Result<Case> {
    let mut case = function(draw, spatial)?;
    let kernel = &case.inputs["kernel"];
    let transposed = case.params.contains_key("output_padding");
    let channels = if transposed { kernel.shape[1] * size_or(&case, "groups", 1) } else { kernel.shape[0] };
    let (dtype, square) = (kernel.dtype, spatial == 1 || kernel.shape[2] == kernel.shape[3]);
    if dtype.is_float() && draw.one_in(2)? {
        case = case.input("bias", draw.tensor(dtype, &[channels])?);
    }
    Ok(if square && draw.one_in(3)? { case.param("form", "built") } else { case })
}

fn contract(case: &Case, function: fn(&Case, usize) -> Contract, spatial: usize) -> Contract {
    let contract = function(case, spatial);
    let built = case.text("form") == "built";
    if built && size_or(case, "groups", 1) == 0 {
        return Contract::Rejects("no groups");
    }
    let Contract::Accepts { outputs, .. } = &contract else {
        return Contract::Unspecified("what the function of the same name answers for");
    };
    let (dtype, channels) = (outputs[0].0, outputs[0].1[1]);
    let square = case.tensor("kernel").is_some_and(|kernel| spatial == 1 || kernel.shape[2] == kernel.shape[3]);
    match case.tensor("bias") {
        _ if built && !square => Contract::Unspecified("a builder makes square kernels"),
        Some(bias) if bias.shape != [channels] => Contract::Unspecified("a bias that is not one value per channel"),
        Some(bias) if bias.dtype != dtype => Contract::Unspecified("a bias of another dtype"),
        Some(_) if !dtype.is_float() => Contract::Unspecified("integer overflow"),
        _ => contract,
    }
}

/// What a layer is made of, and the builder if it is to be built.
struct Parts<'a> {
    kernel: candle_core::Tensor,
    bias: Option<candle_core::Tensor>,
    built: Option<VarBuilder<'a>>,
}

fn parts<'a>(call: &Call) -> candle_core::Result<Parts<'a>> {
    let (kernel, bias) = (call.tensor("kernel")?.clone(), call.optional("bias").cloned());
    let built = (call.case.text("form") == "built").then(|| {
        let mut tensors = HashMap::from([("weight".to_string(), kernel.clone())]);
        tensors.extend(bias.clone().map(|bias| ("bias".to_string(), bias)));
        VarBuilder::from_tensors(tensors, kernel.dtype(), kernel.device())
    });
    Ok(Parts { kernel, bias, built })
}

fn convolved(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let out = convolve(&inputs.array("x"), &inputs.array("kernel"), &window(inputs.case));
    vec![shifted(out, inputs.optional("bias").as_ref())]
}

fn transposed(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let more = size_or(inputs.case, "output_padding", 0);
    let out = convolve_transposed(&inputs.array("x"), &inputs.array("kernel"), &window(inputs.case), more);
    vec![shifted(out, inputs.optional("bias").as_ref())]
}

/// `out (B, C, ..)` plus a bias per channel.
fn shifted(mut out: ArrayD<Num>, bias: Option<&ArrayD<Num>>) -> ArrayD<Num> {
    for (place, value) in out.indexed_iter_mut() {
        *value = bias.map_or(*value, |bias| *value + bias[[place[1]]]);
    }
    out
}
