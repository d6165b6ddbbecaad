//! `Tensor::slice_set`.

use crate::case::{InputSpec, ParamSpec};
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::moving::slice_writes::{draw_slice, slice_contract, with_slice};
use crate::ops::{Op, why};
use crate::tensor::{DType, Support};

/// `x.slice_set(src, dim, start)`: writes `src` into `x` from `start` on along `dim`, in place.
pub static SLICE_SET: Op = Op {
    name: "tensor.slice_set",
    covers: &["Tensor::slice_set"],
    // Its kernel copies bytes, which works for the 8-bit float too.
    support: &Support {
        of: "x",
        cpu: &DType::ALL,
        cuda: &[DType::F32, DType::F64, DType::F16, DType::Bf16, DType::F8e4m3, DType::U32, DType::I64, DType::U8],
    },
    inputs: &[ANY, InputSpec::new("src", "the values to write, no larger than `x`")],
    params: &[DIM, ParamSpec::size("start", 0, "Where to write, along `dim`.")],
    generate: &|draw| draw_slice(draw, false),
    contract: &|case| {
        let contract = slice_contract(case, case.size("dim")).may_refuse(case.share("x", "src"), why::SHARED);
        contract.may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
    },
    call: &|call| {
        let x = call.tensor("x")?.clone();
        x.slice_set(call.tensor("src")?, call.size("dim"), call.size("start"))?;
        Ok(vec![x])
    },
    source: r"
        x.slice_set(&src, {{ dim }}, {{ start }})?;
        x
    ",
    torch: r"
        x.narrow({{ dim }}, {{ start }}, {{ inputs.src.shape[dim] }}).copy_(src)
        x
    ",
    reference: Some(&|inputs| with_slice(inputs, inputs.case.size("dim"))),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor_cat.rs:240-300 (its documentation); torch.narrow and torch.Tensor.copy_",
};
