//! The normalizing layers of the last dimension and of groups of channels: `LayerNorm`, `RmsNorm` and `GroupNorm`.

use candle_core::Module;
use ndarray::{ArrayD, IxDyn};

use crate::case::Case;
use crate::number::Num;
use crate::ops::op::norm::{self, epsilon, extraordinary, normalized, standardized};
use crate::ops::{Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support, product};

/// `LayerNorm::new(weight, bias, eps)` of `x`: `(x - mean) / sqrt(var + eps) * weight + bias`.
pub static LAYER_NORM: Op = Op {
    name: "layer.layer_norm",
    covers: &["LayerNorm", "LayerNorm::new"],
    support: NORM_SUPPORT,
    generate: |draw| norm::generate(draw, LAYER_NORM.support, &["weight", "bias"]),
    contract: |case| layer(case, &["weight", "bias"]),
    call: |call| {
        let (weight, bias) = (call.tensor("weight")?.clone(), call.tensor("bias")?.clone());
        Ok(vec![candle_nn::LayerNorm::new(weight, bias, call.case.float("eps", 1e-5)).forward(call.tensor("x")?)?])
    },
    source: "candle_nn::LayerNorm::new(weight, bias, {{ eps|default('1e-5') }}).forward(&x)?",
    torch: r#"F.layer_norm(x, {{ inputs.x.shape[-1:]|tuple }}, weight, bias, {{ eps|default("1e-5") }})"#,
    reference: Some(|inputs| normalized(inputs, true, "weight", Some("bias"))),
    ulps: 8.0,
    differentiable: &["bias", "weight", "x"],
    promise: NORM_PROMISE,
};

/// `LayerNorm::new_no_bias(weight, eps)` or, by `form`, `LayerNorm::rms_norm(weight, eps)` of `x`.
pub static LAYER_NORM_NO_BIAS: Op = Op {
    name: "layer.layer_norm_no_bias",
    covers: &["LayerNorm::new_no_bias", "LayerNorm::rms_norm"],
    support: &SLOW,
    generate: |draw| {
        let case = norm::generate(draw, &SLOW, &["weight"])?;
        Ok(case.param("form", *draw.choose(&["new_no_bias", "rms_norm"])?))
    },
    contract: |case| norm::slow(case, &["weight"]),
    call: |call| {
        let (weight, eps) = (call.tensor("weight")?.clone(), call.case.float("eps", 1e-5));
        let layer = match call.case.text("form") {
            "rms_norm" => candle_nn::LayerNorm::rms_norm(weight, eps),
            _ => candle_nn::LayerNorm::new_no_bias(weight, eps),
        };
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: r#"
        {% set make = "rms_norm" if form == "rms_norm" else "new_no_bias" %}
        candle_nn::LayerNorm::{{ make }}(weight, {{ eps|default("1e-5") }}).forward(&x)?
    "#,
    torch: r#"
        {% set shape, eps = inputs.x.shape[-1:]|tuple, eps|default("1e-5") %}
        {% if form == "rms_norm" %}
        F.rms_norm(x, {{ shape }}, weight, {{ eps }})
        {% else %}
        F.layer_norm(x, {{ shape }}, weight, eps={{ eps }})
        {% endif %}
    "#,
    reference: Some(|inputs| normalized(inputs, inputs.case.text("form") != "rms_norm", "weight", None)),
    ulps: 8.0,
    differentiable: &["weight", "x"],
    promise: NORM_PROMISE,
};

/// `RmsNorm::new(weight, eps)` of `x`: `x / sqrt(mean(x^2) + eps) * weight`.
pub static RMS_NORM: Op = Op {
    name: "layer.rms_norm",
    covers: &["RmsNorm"],
    support: NORM_SUPPORT,
    generate: |draw| norm::generate(draw, RMS_NORM.support, &["weight"]),
    contract: |case| layer(case, &["weight"]),
    call: |call| {
        let layer = candle_nn::RmsNorm::new(call.tensor("weight")?.clone(), call.case.float("eps", 1e-5));
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: "candle_nn::RmsNorm::new(weight, {{ eps|default('1e-5') }}).forward(&x)?",
    torch: r#"F.rms_norm(x, {{ inputs.x.shape[-1:]|tuple }}, weight, {{ eps|default("1e-5") }})"#,
    reference: Some(|inputs| normalized(inputs, false, "weight", None)),
    ulps: 8.0,
    differentiable: &["weight", "x"],
    promise: NORM_PROMISE,
};

/// `RmsNorm::new(weight, eps).forward_diff(x)`: the same with a gradient.
pub static RMS_NORM_DIFF: Op = Op {
    name: "layer.rms_norm_diff",
    covers: &["RmsNorm::forward_diff"],
    support: &SLOW,
    generate: |draw| norm::generate(draw, &SLOW, &["weight"]),
    contract: |case| norm::slow(case, &["weight"]),
    call: |call| {
        let layer = candle_nn::RmsNorm::new(call.tensor("weight")?.clone(), call.case.float("eps", 1e-5));
        Ok(vec![layer.forward_diff(call.tensor("x")?)?])
    },
    source: "candle_nn::RmsNorm::new(weight, {{ eps|default('1e-5') }}).forward_diff(&x)?",
    torch: RMS_NORM.torch,
    reference: Some(|inputs| normalized(inputs, false, "weight", None)),
    ulps: 8.0,
    differentiable: &["weight", "x"],
    promise: NORM_PROMISE,
};

/// `GroupNorm::new(weight (C), bias (C), C, groups, eps)` of `x (N, C, ..)`: each group of channels standardized.
pub static GROUP_NORM: Op = Op {
    name: "layer.group_norm",
    covers: &["GroupNorm"],
    support: &SLOW,
    generate: |draw| {
        let dtype = draw.dtype(&SLOW)?;
        let groups = *draw.choose(&[1, 1, 2, 3])?;
        let channels = groups * draw.between(1, 3)?;
        let mut shape = draw.shape(0, 2)?;
        shape.push(draw.reduced()?);
        shape.splice(0..0, [draw.positive()?, channels]);
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?);
        for weight in ["bias", "weight"] {
            case = case.input(weight, draw.tensor(dtype, &[channels])?);
        }
        case.backward = draw.backward()?;
        let case = case.param("groups", groups).param("channels", channels);
        norm::with_eps(draw, case, dtype)
    },
    contract: group_contract,
    call: |call| {
        let (channels, groups, eps) = (call.size("channels", 1), call.size("groups", 1), call.case.float("eps", 1e-5));
        let (weight, bias) = (call.tensor("weight")?.clone(), call.tensor("bias")?.clone());
        let layer = candle_nn::GroupNorm::new(weight, bias, channels, groups, eps)?;
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: r#"
        {% set channels, groups = channels|default(1), groups|default(1) %}
        candle_nn::GroupNorm::new(weight, bias, {{ channels }}, {{ groups }}, {{ eps|default("1e-5") }})?.forward(&x)?
    "#,
    torch: r#"F.group_norm(x, {{ groups|default(1) }}, weight, bias, {{ eps|default("1e-5") }})"#,
    reference: Some(grouped),
    ulps: 8.0,
    differentiable: &["bias", "weight", "x"],
    promise: "candle-nn/src/group_norm.rs:20-80; torch.nn.GroupNorm",
};

/// What the composed forms take.
const SLOW: Support = Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

/// The dtypes of these ops.
pub const NORM_SUPPORT: &Support =
    &Support { of: "x", cpu: &[DType::F32, DType::F16, DType::Bf16], cuda: &DType::FLOATS };
/// Where the contract of these ops comes from.
pub const NORM_PROMISE: &str = "candle-nn/src/layer_norm.rs:1-137, 180-215: fused where x is contiguous, else composed; torch.nn.LayerNorm \
              and torch.nn.RMSNorm";

/// The contract of a layer that takes the fused form for a contiguous `x`, and the composed one for any other.
fn layer(case: &Case, weights: &[&str]) -> Contract {
    let strided = |name: &&str| case.tensor(name).is_some_and(|tensor| !tensor.view.is_contiguous());
    let contract = if strided(&"x") { norm::slow(case, weights) } else { norm::contract(case, weights) };
    contract.may_refuse(weights.iter().any(strided), why::CONTIGUOUS)
}

fn group_contract(case: &Case) -> Contract {
    let (Some(x), Some(weight), Some(bias)) = (case.tensor("x"), case.tensor("weight"), case.tensor("bias")) else {
        return Contract::Rejects(why::SHAPES);
    };
    if !x.dtype.is_float() {
        return Contract::Unspecified("the norm of integers");
    }
    let size = |name| usize::try_from(case.int(name, 1)).unwrap_or(0);
    let (channels, groups) = (size("channels"), size("groups"));
    if groups == 0 || channels % groups != 0 {
        return Contract::Rejects("groups do not divide the channels");
    }
    if x.shape.len() <= 2 {
        return Contract::Rejects(why::RANK);
    }
    if x.elements() == Some(0) && x.shape[1] != channels {
        return Contract::Unspecified("the norm of nothing");
    }
    if x.shape[1] != channels || [weight, bias].iter().any(|t| t.elements() != Some(channels)) {
        return Contract::Rejects(why::SHAPES);
    }
    if weight.dtype != x.dtype || bias.dtype != x.dtype {
        let computes = x.elements() != Some(0);
        let nothing = Contract::Unspecified("weights of another dtype where nothing is computed");
        return if computes { Contract::Rejects(why::MIXED) } else { nothing };
    }
    if weight.shape.len() != 1 || bias.shape.len() != 1 {
        return Contract::Unspecified("weights of another shape");
    }
    extraordinary(case, x.dtype).unwrap_or_else(|| Contract::accepts(x.dtype, &x.shape))
}

fn grouped(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let (x, weight, bias) = (inputs.array("x"), inputs.array("weight"), inputs.array("bias"));
    if x.is_empty() {
        return vec![x];
    }
    let (channels, inner) = (x.shape()[1], product(&x.shape()[2..]).unwrap_or(1));
    let groups = usize::try_from(inputs.case.int("groups", 1)).unwrap_or(1);
    let mut values: Vec<Num> = x.iter().copied().collect();
    for group in values.chunks_mut(channels / groups * inner) {
        let standard = standardized(group, epsilon(inputs.case), true);
        group.copy_from_slice(&standard);
    }
    for (position, value) in values.iter_mut().enumerate() {
        let channel = position / inner % channels;
        *value = *value * weight[[channel]] + bias[[channel]];
    }
    vec![ArrayD::from_shape_vec(IxDyn(x.shape()), values).expect("as many as before")]
}
