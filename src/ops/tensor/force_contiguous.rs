//! `Tensor::force_contiguous`.

use crate::ops::Op;
use crate::ops::support::arguments::ANY;
use crate::ops::support::moving::gather_map::{COPIES, contract, draw_x};

/// `x.force_contiguous()`: as `x.contiguous()`, but always copies.
pub static FORCE_CONTIGUOUS: Op = Op {
    name: "tensor.force_contiguous",
    covers: &["Tensor::force_contiguous"],
    support: COPIES,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| draw_x(draw, 0, 4),
    contract: &|case| contract(case, |_, x| Ok(x.to_vec())),
    call: &|call| Ok(vec![call.tensor("x")?.force_contiguous()?]),
    source: "x.force_contiguous()?",
    torch: "x.clone(memory_format=torch.contiguous_format)",
    reference: Some(&|inputs| vec![inputs.array("x")]),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2357-2374, 2490-2516; torch.clone",
};
