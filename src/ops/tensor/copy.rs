//! `Tensor::copy`.

use crate::ops::Op;
use crate::ops::support::arguments::ANY;
use crate::ops::support::moving::gather_map::{VIEWS, contract, draw_x};

/// `x.copy()`: a copy of the storage, in the same view.
pub static COPY: Op = Op {
    name: "tensor.copy",
    covers: &["Tensor::copy"],
    support: VIEWS,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| draw_x(draw, 0, 4),
    contract: &|case| contract(case, |_, x| Ok(x.to_vec())),
    call: &|call| Ok(vec![call.tensor("x")?.copy()?]),
    source: "x.copy()?",
    torch: "x.clone()",
    reference: Some(&|inputs| vec![inputs.array("x")]),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2357-2374, 2490-2516; torch.clone",
};
