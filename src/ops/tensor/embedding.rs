//! `Tensor::embedding`.

use crate::case::{Case, InputSpec};
use crate::ops::support::moving::gather_map::{COPIES, shape_of};
use crate::ops::tensor::index_select::INDEX_SELECT;
use crate::ops::{Contract, Op, rule};

/// `x.embedding(ids)`: the rows of `x (V, H)` that `ids (S)` names.
pub static EMBEDDING: Op = Op {
    name: "tensor.embedding",
    covers: &["Tensor::embedding"],
    support: COPIES,
    inputs: &[InputSpec::new("x", "(V, H): one row per id"), InputSpec::new("ids", "(S), integers below V").discrete()],
    params: &[],
    generate: &|draw| {
        let (dtype, id_dtype) = (draw.dtype(COPIES)?, draw.id_dtype()?);
        let x = [draw.positive()?, draw.size()?];
        let count = draw.size()?;
        let ids = draw.ids(id_dtype, &[count], x[0])?;
        let mut case = Case::default().input("x", draw.packed(dtype, &x)?).input("ids", ids);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: &|case| match shape_of(case).len() {
        2 => INDEX_SELECT.contract(case),
        _ => Contract::Rejects(&rule::RANK),
    },
    call: &|call| Ok(vec![call.tensor("x")?.embedding(call.tensor("ids")?)?]),
    source: "x.embedding(&ids)?",
    torch: r#"F.embedding({{ ids("ids") }}, x)"#,
    reference: INDEX_SELECT.reference,
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1605-1635 (its documentation); torch.nn.functional.embedding; as for index_select",
};
