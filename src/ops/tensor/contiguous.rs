//! `Tensor::contiguous`.

use crate::ops::Op;
use crate::ops::support::arguments::ANY;
use crate::ops::support::moving::gather_map::{COPIES, contract, draw_x};

/// `x.contiguous()`: the same values in row-major order. Copies unless `x` is contiguous.
pub static CONTIGUOUS: Op = Op {
    name: "tensor.contiguous",
    covers: &["Tensor::contiguous"],
    support: COPIES,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| draw_x(draw, 0, 4),
    contract: &|case| contract(case, |_, x| Ok(x.to_vec())),
    call: &|call| Ok(vec![call.tensor("x")?.contiguous()?]),
    source: "x.contiguous()?",
    torch: "x.contiguous()",
    reference: Some(&|inputs| vec![inputs.array("x")]),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2357-2374, 2490-2516; torch.Tensor.contiguous",
};
