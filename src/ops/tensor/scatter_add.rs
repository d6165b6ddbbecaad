//! `Tensor::scatter_add`.

use crate::case::InputSpec;
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::moving::gather_map::COPIES;
use crate::ops::support::moving::scatter::{
    arguments, covered, draw_scatter, scatter_contract, scatter_shapes, scattered,
};
use crate::ops::{Contract, Op, rule};

/// `x.scatter_add(ids, src, dim)`: as `scatter`, but adds to the old value.
pub static SCATTER_ADD: Op = Op {
    name: "tensor.scatter_add",
    covers: &["Tensor::scatter_add"],
    support: COPIES,
    inputs: &[
        ANY,
        InputSpec::new("ids", "integers that index `dim` of `x`").discrete(),
        InputSpec::new("src", "shaped as `ids`, or larger"),
    ],
    params: &[DIM],
    generate: &|draw| {
        let (dtype, x, src, dim, id_dtype) = scatter_shapes(draw)?;
        let ids = draw.ids(id_dtype, &src, x[dim])?;
        draw_scatter(draw, dtype, &x, &src, dim, ids)
    },
    contract: &|case| {
        let Some([x, ids, src]) = arguments(case) else { return Contract::Rejects(&rule::SHAPES) };
        scatter_contract(case, [x, ids, src], true, covered)
    },
    call: &|call| {
        let (ids, src) = (call.tensor("ids")?, call.tensor("src")?);
        Ok(vec![call.tensor("x")?.scatter_add(ids, src, call.size("dim"))?])
    },
    source: "x.scatter_add(&ids, &src, {{ dim }})?",
    torch: r#"x.scatter_add({{ dim }}, {{ ids("ids") }}, src)"#,
    reference: Some(&|inputs| {
        let ids = inputs.ids("ids");
        scattered(inputs, |index| ids.get(index).copied(), |old, new, _| old + new)
    }),
    ulps: 4.0,
    differentiable: &["src", "x"],
    promise: "candle-core/src/tensor.rs:1711-1731; torch.Tensor.scatter_add_; the largest id of its dtype as for index_add",
};
