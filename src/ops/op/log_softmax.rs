//! `log_softmax`.

use candle_nn::ops;

use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::dtypes::FLOATS_AND_F8;
use crate::ops::support::moving::ids::dim;
use crate::ops::support::reducing::softmax::{along, draw_x, log_softmax};
use crate::ops::{Contract, Op, rule};

/// `candle_nn::ops::log_softmax(x, dim)`: `x - ln(sum(exp(x)))` over `dim`.
pub static LOG_SOFTMAX: Op = Op {
    name: "op.log_softmax",
    covers: &["ops::log_softmax"],
    support: FLOATS_AND_F8,
    inputs: &[ANY],
    params: &[DIM],
    generate: &|draw| {
        let mut shape = draw.open_shape(0, 2)?;
        let dim = draw.between(0, shape.len())?;
        shape.insert(dim, draw.lane()?);
        Ok(draw_x(draw, LOG_SOFTMAX.support, &shape)?.param("dim", dim))
    },
    contract: &|case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
        if dim(case, x).is_none() {
            return Contract::Rejects(&rule::DIM);
        }
        if !x.dtype.is_float() {
            return Contract::Rejects(&rule::SOFTMAX);
        }
        Contract::accepts(x.dtype, &x.shape)
    },
    call: &|call| Ok(vec![ops::log_softmax(call.tensor("x")?, call.size("dim"))?]),
    source: "candle_nn::ops::log_softmax(&x, {{ dim }})?",
    torch: "x.log_softmax(dim={{ dim }})",
    reference: Some(&|inputs| along(inputs, Some(inputs.case.size("dim")), log_softmax)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:32-39; torch.log_softmax",
};
