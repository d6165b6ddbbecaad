//! `rms_norm`, fused, and `rms_norm_slow`, composed of other ops.

use candle_nn::ops;

use crate::case::InputSpec;
use crate::ops::Op;
use crate::ops::support::arguments::EPS;
use crate::ops::support::dtypes::FLOATS_AND_F8;
use crate::ops::support::reducing::norm::{FUSED, composed_contract, eps_f32, fused_contract, generate, normalized};

/// `candle_nn::ops::rms_norm(x, alpha, eps)`: `x / sqrt(mean(x^2) + eps) * alpha`.
pub static RMS_NORM: Op = Op {
    name: "op.rms_norm",
    covers: &["ops::rms_norm"],
    support: FUSED,
    inputs: &[InputSpec::new("x", "(.., H)"), InputSpec::new("alpha", "(H): the weight")],
    params: &[EPS],
    generate: &|draw| generate(draw, RMS_NORM.support, &["alpha"]),
    contract: &|case| fused_contract(case, &["alpha"]),
    call: &|call| Ok(vec![ops::rms_norm(call.tensor("x")?, call.tensor("alpha")?, eps_f32(call.case))?]),
    source: "candle_nn::ops::rms_norm(&x, &alpha, {{ eps|f32 }})?",
    torch: "F.rms_norm(x, {{ inputs.x.shape[-1:]|tuple }}, alpha, {{ eps }})",
    reference: Some(&|inputs| normalized(inputs, false, "alpha", None)),
    ulps: 8.0,
    differentiable: &["alpha", "x"],
    promise: "candle-nn/src/ops.rs:441-671: the fused form of rms_norm_slow (ops.rs:643-655); torch.nn.RMSNorm",
};

/// `candle_nn::ops::rms_norm_slow(x, alpha, eps)`: `rms_norm` of any layout, composed of other ops.
pub static RMS_NORM_SLOW: Op = Op {
    name: "op.rms_norm_slow",
    covers: &["ops::rms_norm_slow"],
    support: FLOATS_AND_F8,
    inputs: &[InputSpec::new("x", "(.., H)"), InputSpec::new("alpha", "(H): the weight")],
    params: &[EPS],
    generate: &|draw| generate(draw, RMS_NORM_SLOW.support, &["alpha"]),
    contract: &|case| composed_contract(case, &["alpha"]),
    call: &|call| Ok(vec![ops::rms_norm_slow(call.tensor("x")?, call.tensor("alpha")?, eps_f32(call.case))?]),
    source: "candle_nn::ops::rms_norm_slow(&x, &alpha, {{ eps|f32 }})?",
    torch: RMS_NORM.torch,
    reference: Some(&|inputs| normalized(inputs, false, "alpha", None)),
    ulps: 8.0,
    differentiable: &["alpha", "x"],
    promise: "candle-nn/src/ops.rs:643-655; torch.nn.RMSNorm",
};
