//! `layer_norm`, fused, and `layer_norm_slow`, composed of other ops.

use candle_nn::ops;

use crate::case::InputSpec;
use crate::ops::Op;
use crate::ops::support::arguments::EPS;
use crate::ops::support::dtypes::FLOATS_AND_F8;
use crate::ops::support::reducing::norm::{FUSED, composed_contract, eps_f32, fused_contract, generate, normalized};

/// `candle_nn::ops::layer_norm(x, alpha, beta, eps)`: `(x - mean) / sqrt(var + eps) * alpha + beta`.
pub static LAYER_NORM: Op = Op {
    name: "op.layer_norm",
    covers: &["ops::layer_norm"],
    support: FUSED,
    inputs: &[
        InputSpec::new("x", "(.., H)"),
        InputSpec::new("alpha", "(H): the weight"),
        InputSpec::new("beta", "(H): the bias"),
    ],
    params: &[EPS],
    generate: &|draw| generate(draw, LAYER_NORM.support, &["alpha", "beta"]),
    contract: &|case| fused_contract(case, &["alpha", "beta"]),
    call: &|call| {
        let (alpha, beta) = (call.tensor("alpha")?, call.tensor("beta")?);
        Ok(vec![ops::layer_norm(call.tensor("x")?, alpha, beta, eps_f32(call.case))?])
    },
    source: "candle_nn::ops::layer_norm(&x, &alpha, &beta, {{ eps|f32 }})?",
    torch: "F.layer_norm(x, {{ inputs.x.shape[-1:]|tuple }}, alpha, beta, {{ eps }})",
    reference: Some(&|inputs| normalized(inputs, true, "alpha", Some("beta"))),
    ulps: 8.0,
    differentiable: &["alpha", "beta", "x"],
    promise: "candle-nn/src/layer_norm.rs:1-29, ops.rs:674-933: the fused form of LayerNorm, whose slow path \
              (layer_norm.rs:116-137) subtracts the mean first; torch.nn.LayerNorm",
};

/// `candle_nn::ops::layer_norm_slow(x, alpha, beta, eps)`: `layer_norm` of any layout, composed of other ops.
pub static LAYER_NORM_SLOW: Op = Op {
    name: "op.layer_norm_slow",
    covers: &["ops::layer_norm_slow"],
    support: FLOATS_AND_F8,
    inputs: &[
        InputSpec::new("x", "(.., H)"),
        InputSpec::new("alpha", "(H): the weight"),
        InputSpec::new("beta", "(H): the bias"),
    ],
    params: &[EPS],
    generate: &|draw| generate(draw, LAYER_NORM_SLOW.support, &["alpha", "beta"]),
    contract: &|case| composed_contract(case, &["alpha", "beta"]),
    call: &|call| {
        let (alpha, beta) = (call.tensor("alpha")?, call.tensor("beta")?);
        Ok(vec![ops::layer_norm_slow(call.tensor("x")?, alpha, beta, eps_f32(call.case))?])
    },
    source: "candle_nn::ops::layer_norm_slow(&x, &alpha, &beta, {{ eps|f32 }})?",
    torch: LAYER_NORM.torch,
    reference: Some(&|inputs| normalized(inputs, true, "alpha", Some("beta"))),
    ulps: 8.0,
    differentiable: &["alpha", "beta", "x"],
    promise: "candle-nn/src/ops.rs:895-915; torch.nn.LayerNorm",
};
