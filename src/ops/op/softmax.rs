//! `softmax`, and its fused form `softmax_last_dim`.

use candle_nn::ops;

use crate::ops::op::log_softmax::LOG_SOFTMAX;
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::dtypes::{FLOATS, FLOATS_AND_F8};
use crate::ops::support::reducing::softmax::{along, draw_x, softmax, softmax_of_rounded};
use crate::ops::{Contract, Op, rule, why};

/// `candle_nn::ops::softmax(x, dim)`: `exp(x) / sum(exp(x))` over `dim`.
pub static SOFTMAX: Op = Op {
    name: "op.softmax",
    covers: &["ops::softmax"],
    support: FLOATS_AND_F8,
    inputs: &[ANY],
    params: &[DIM],
    generate: LOG_SOFTMAX.generate,
    contract: LOG_SOFTMAX.contract,
    call: &|call| Ok(vec![ops::softmax(call.tensor("x")?, call.size("dim"))?]),
    source: "candle_nn::ops::softmax(&x, {{ dim }})?",
    torch: "x.softmax(dim={{ dim }})",
    reference: Some(&|inputs| along(inputs, Some(inputs.case.size("dim")), softmax)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:7-30; torch.softmax",
};

/// `candle_nn::ops::softmax_last_dim(x)`: `exp(x) / sum(exp(x))` over the last dimension.
pub static SOFTMAX_LAST_DIM: Op = Op {
    name: "op.softmax_last_dim",
    covers: &["ops::softmax_last_dim"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| {
        let mut shape = draw.open_shape(0, 3)?;
        shape.push(draw.lane()?);
        draw_x(draw, SOFTMAX_LAST_DIM.support, &shape)
    },
    contract: &|case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
        if x.shape.is_empty() {
            return Contract::Rejects(&rule::RANK);
        }
        if !x.dtype.is_float() && x.elements() == Some(0) {
            return Contract::Unspecified(why::NO_INTEGERS);
        }
        if !x.dtype.is_float() {
            return Contract::Rejects(&rule::SOFTMAX);
        }
        Contract::accepts(x.dtype, &x.shape).may_refuse(!x.view.is_contiguous(), why::CONTIGUOUS)
    },
    call: &|call| Ok(vec![ops::softmax_last_dim(call.tensor("x")?)?]),
    source: "candle_nn::ops::softmax_last_dim(&x)?",
    torch: "x.softmax(dim=-1)",
    reference: Some(&|inputs| along(inputs, None, softmax_of_rounded)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:284-439: the fused form of ops::softmax (ops.rs:7-30), which has a gradient; \
              torch.softmax",
};
