//! `Tensor::slice_scatter` and `Tensor::slice_scatter0`.

use crate::case::{InputSpec, ParamSpec};
use crate::ops::Op;
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::moving::gather_map::COPIES;
use crate::ops::support::moving::slice_writes::{draw_slice, slice_contract, with_slice};

/// `x.slice_scatter(src, dim, start)`: a copy of `x` with `src` in it from `start` on along `dim`.
pub static SLICE_SCATTER: Op = Op {
    name: "tensor.slice_scatter",
    covers: &["Tensor::slice_scatter"],
    support: COPIES,
    inputs: &[ANY, InputSpec::new("src", "the values to write, no larger than `x`")],
    params: &[DIM, ParamSpec::size("start", 0, "Where to write, along `dim`.")],
    generate: &|draw| draw_slice(draw, false),
    contract: &|case| slice_contract(case, case.size("dim")),
    call: &|call| {
        let (src, dim) = (call.tensor("src")?, call.size("dim"));
        Ok(vec![call.tensor("x")?.slice_scatter(src, dim, call.size("start"))?])
    },
    source: "x.slice_scatter(&src, {{ dim }}, {{ start }})?",
    torch: r"
        x.slice_scatter(src, {{ dim }}, {{ start }}, {{ start + inputs.src.shape[dim] }})
    ",
    reference: Some(&|inputs| with_slice(inputs, inputs.case.size("dim"))),
    ulps: 4.0,
    differentiable: &["src", "x"],
    promise: "candle-core/src/tensor.rs:1749-1817; torch.slice_scatter",
};

/// `x.slice_scatter0(src, start)`: `slice_scatter` along the first dimension.
pub static SLICE_SCATTER0: Op = Op {
    name: "tensor.slice_scatter0",
    covers: &["Tensor::slice_scatter0"],
    support: COPIES,
    inputs: &[ANY, InputSpec::new("src", "the values to write, no larger than `x`")],
    params: &[ParamSpec::size("start", 0, "Where to write, along `dim`.")],
    generate: &|draw| draw_slice(draw, true),
    contract: &|case| slice_contract(case, 0),
    call: &|call| Ok(vec![call.tensor("x")?.slice_scatter0(call.tensor("src")?, call.size("start"))?]),
    source: "x.slice_scatter0(&src, {{ start }})?",
    torch: r"
        x.slice_scatter(src, 0, {{ start }}, {{ start + inputs.src.shape[0] }})
    ",
    reference: Some(&|inputs| with_slice(inputs, 0)),
    ulps: 4.0,
    differentiable: &["src", "x"],
    promise: "candle-core/src/tensor.rs:1749-1817; torch.slice_scatter",
};
