//! The layer `LayerNorm`, with and without a bias.

use candle_core::Module;

use crate::case::{InputSpec, ParamSpec};
use crate::ops::Op;
use crate::ops::support::arguments::EPS;
use crate::ops::support::dtypes::FLOATS_AND_F8;
use crate::ops::support::reducing::norm::{
    FUSED, LAYER_PROMISE, composed_contract, generate, layer_contract, normalized,
};

/// `LayerNorm::new(weight, bias, eps)` of `x`: `(x - mean) / sqrt(var + eps) * weight + bias`.
pub static LAYER_NORM: Op = Op {
    name: "layer.layer_norm",
    covers: &["LayerNorm", "LayerNorm::new"],
    support: FUSED,
    inputs: &[InputSpec::new("x", "(.., H)"), InputSpec::new("weight", "(H)"), InputSpec::new("bias", "(H)")],
    params: &[EPS],
    generate: &|draw| generate(draw, LAYER_NORM.support, &["weight", "bias"]),
    contract: &|case| layer_contract(case, &["weight", "bias"]),
    call: &|call| {
        let (weight, bias) = (call.tensor("weight")?.clone(), call.tensor("bias")?.clone());
        Ok(vec![candle_nn::LayerNorm::new(weight, bias, call.case.float("eps")).forward(call.tensor("x")?)?])
    },
    source: "candle_nn::LayerNorm::new(weight, bias, {{ eps }}).forward(&x)?",
    torch: "F.layer_norm(x, {{ inputs.x.shape[-1:]|tuple }}, weight, bias, {{ eps }})",
    reference: Some(&|inputs| normalized(inputs, true, "weight", Some("bias"))),
    ulps: 8.0,
    differentiable: &["bias", "weight", "x"],
    promise: LAYER_PROMISE,
};

/// `LayerNorm::new_no_bias(weight, eps)` or, by `form`, `LayerNorm::rms_norm(weight, eps)` of `x`.
pub static LAYER_NORM_NO_BIAS: Op = Op {
    name: "layer.layer_norm_no_bias",
    covers: &["LayerNorm::new_no_bias", "LayerNorm::rms_norm"],
    support: FLOATS_AND_F8,
    inputs: &[InputSpec::new("x", "(.., H)"), InputSpec::new("weight", "(H)")],
    params: &[EPS, ParamSpec::word("form", &["new_no_bias", "rms_norm"], "The constructor.")],
    generate: &|draw| {
        let case = generate(draw, FLOATS_AND_F8, &["weight"])?;
        Ok(case.param("form", *draw.choose(&["new_no_bias", "rms_norm"])?))
    },
    contract: &|case| composed_contract(case, &["weight"]),
    call: &|call| {
        let (weight, eps) = (call.tensor("weight")?.clone(), call.case.float("eps"));
        let layer = match call.case.text("form") {
            "rms_norm" => candle_nn::LayerNorm::rms_norm(weight, eps),
            _ => candle_nn::LayerNorm::new_no_bias(weight, eps),
        };
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: r#"
        {% set make = "rms_norm" if form == "rms_norm" else "new_no_bias" %}
        candle_nn::LayerNorm::{{ make }}(weight, {{ eps }}).forward(&x)?
    "#,
    torch: r#"
        {% set shape = inputs.x.shape[-1:]|tuple %}
        {% if form == "rms_norm" %}
        F.rms_norm(x, {{ shape }}, weight, {{ eps }})
        {% else %}
        F.layer_norm(x, {{ shape }}, weight, eps={{ eps }})
        {% endif %}
    "#,
    reference: Some(&|inputs| normalized(inputs, inputs.case.text("form") != "rms_norm", "weight", None)),
    ulps: 8.0,
    differentiable: &["weight", "x"],
    promise: LAYER_PROMISE,
};
