//! `Tensor::narrow`.

use crate::case::{Case, ParamSpec};
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::moving::gather_map::{VIEWS, contract, draw_x, gathered, shape_of};
use crate::ops::{Contract, Op, rule};

/// `x.narrow(dim, start, len)`: the entries `start..start + len` of a dimension.
pub static NARROW: Op = Op {
    name: "tensor.narrow",
    covers: &["Tensor::narrow"],
    support: VIEWS,
    inputs: &[ANY],
    params: &[DIM, ParamSpec::size("len", 0, "How many entries."), ParamSpec::size("start", 0, "The first entry.")],
    generate: &|draw| {
        let case = draw_x(draw, 1, 4)?;
        let shape = shape_of(&case);
        let dim = draw.between(0, shape.len() - 1)?;
        let start = draw.between(0, shape[dim])?;
        let len = draw.between(0, shape[dim] - start)?;
        Ok(case.param("dim", dim).param("start", start).param("len", len))
    },
    contract: &|case| contract(case, narrowed),
    call: &|call| {
        let (dim, start, len) = (call.size("dim"), call.size("start"), call.size("len"));
        Ok(vec![call.tensor("x")?.narrow(dim, start, len)?])
    },
    source: "x.narrow({{ dim }}, {{ start }}, {{ len }})?",
    torch: "x.narrow({{ dim }}, {{ start }}, {{ len }})",
    reference: Some(&|inputs| {
        gathered(inputs, narrowed, |case, _, index| {
            let mut index = index.to_vec();
            index[case.size("dim")] += case.size("start");
            Some(index)
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:861-916; torch.narrow",
};

fn narrowed(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let (dim, start, len) = (case.size("dim"), case.size("start"), case.size("len"));
    let Some(&n) = x.get(dim) else { return Err(Contract::Rejects(&rule::DIM)) };
    if start.checked_add(len).is_none_or(|end| end > n) {
        return Err(Contract::Rejects(&rule::RANGE));
    }
    let mut shape = x.to_vec();
    shape[dim] = len;
    Ok(shape)
}
