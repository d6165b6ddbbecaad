//! The layer `RmsNorm`, fused and with a gradient.

use candle_core::Module;

use crate::case::InputSpec;
use crate::ops::Op;
use crate::ops::support::arguments::EPS;
use crate::ops::support::dtypes::FLOATS_AND_F8;
use crate::ops::support::reducing::norm::{
    FUSED, LAYER_PROMISE, composed_contract, generate, layer_contract, normalized,
};

/// `RmsNorm::new(weight, eps)` of `x`: `x / sqrt(mean(x^2) + eps) * weight`.
pub static RMS_NORM: Op = Op {
    name: "layer.rms_norm",
    covers: &["RmsNorm", "RmsNorm::new"],
    support: FUSED,
    inputs: &[InputSpec::new("x", "(.., H)"), InputSpec::new("weight", "(H)")],
    params: &[EPS],
    generate: &|draw| generate(draw, RMS_NORM.support, &["weight"]),
    contract: &|case| layer_contract(case, &["weight"]),
    call: &|call| {
        let layer = candle_nn::RmsNorm::new(call.tensor("weight")?.clone(), call.case.float("eps"));
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: "candle_nn::RmsNorm::new(weight, {{ eps }}).forward(&x)?",
    torch: "F.rms_norm(x, {{ inputs.x.shape[-1:]|tuple }}, weight, {{ eps }})",
    reference: Some(&|inputs| normalized(inputs, false, "weight", None)),
    ulps: 8.0,
    differentiable: &["weight", "x"],
    promise: LAYER_PROMISE,
};

/// `RmsNorm::new(weight, eps).forward_diff(x)`: `RmsNorm` with a gradient.
pub static RMS_NORM_DIFF: Op = Op {
    name: "layer.rms_norm_diff",
    covers: &["RmsNorm::forward_diff"],
    support: FLOATS_AND_F8,
    inputs: &[InputSpec::new("x", "(.., H)"), InputSpec::new("weight", "(H)")],
    params: &[EPS],
    generate: &|draw| generate(draw, FLOATS_AND_F8, &["weight"]),
    contract: &|case| composed_contract(case, &["weight"]),
    call: &|call| {
        let layer = candle_nn::RmsNorm::new(call.tensor("weight")?.clone(), call.case.float("eps"));
        Ok(vec![layer.forward_diff(call.tensor("x")?)?])
    },
    source: "candle_nn::RmsNorm::new(weight, {{ eps }}).forward_diff(&x)?",
    torch: RMS_NORM.torch,
    reference: Some(&|inputs| normalized(inputs, false, "weight", None)),
    ulps: 8.0,
    differentiable: &["weight", "x"],
    promise: LAYER_PROMISE,
};
