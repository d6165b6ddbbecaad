//! `Tensor::get` and `Tensor::get_on_dim`.

use crate::case::{Case, ParamSpec};
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::moving::gather_map::{COPIES, contract, draw_x_of, gathered};
use crate::ops::support::moving::slicing::EMPTY_SLICE;
use crate::ops::{Contract, Op, rule};

/// `x.get(index)`, or `x.get_on_dim(dim, index)`: one slice, without its dimension.
pub static GET: Op = Op {
    name: "tensor.get",
    covers: &["Tensor::get", "Tensor::get_on_dim"],
    support: COPIES,
    inputs: &[ANY],
    params: &[
        DIM,
        ParamSpec::word("form", &["", "first"], "`get_on_dim`, or `get` of the first dimension."),
        ParamSpec::size("index", 0, "The entry."),
    ],
    generate: &|draw| {
        let mut shape: Vec<usize> = draw.open_shape(0, 3)?.into_iter().map(|n| n.max(1)).collect();
        let dim = draw.between(0, shape.len())?;
        shape.insert(dim, draw.positive()?);
        let index = draw.between(0, shape[dim] - 1)?;
        let case = draw_x_of(draw, &shape)?.param("index", index);
        Ok(if dim == 0 && draw.one_in(2)? { case.param("form", "first") } else { case.param("dim", dim) })
    },
    contract: &|case| contract(case, gotten),
    call: &|call| {
        let (x, index) = (call.tensor("x")?, call.size("index"));
        Ok(vec![if call.case.text("form") == "first" { x.get(index)? } else { x.get_on_dim(call.size("dim"), index)? }])
    },
    source: r#"
        {% if form == "first" %}
        x.get({{ index }})?
        {% else %}
        x.get_on_dim({{ dim }}, {{ index }})?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "first" %}
        x[{{ index }}]
        {% else %}
        x.select({{ dim }}, {{ index }})
        {% endif %}
    "#,
    reference: Some(&|inputs| {
        gathered(inputs, gotten, |case, _, index| {
            let mut index = index.to_vec();
            index.insert(dim_of(case), case.size("index"));
            Some(index)
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2230-2265; torch.select",
};

fn dim_of(case: &Case) -> usize {
    if case.text("form") == "first" { 0 } else { case.size("dim") }
}

fn gotten(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let dim = dim_of(case);
    if x.is_empty() && case.text("form") == "first" {
        return Err(Contract::Rejects(&rule::INDEX));
    }
    let Some(&n) = x.get(dim) else { return Err(Contract::Rejects(&rule::DIM)) };
    if case.size("index") >= n {
        return Err(Contract::Rejects(&rule::INDEX));
    }
    if x.contains(&0) {
        return Err(EMPTY_SLICE);
    }
    let mut shape = x.to_vec();
    shape.remove(dim);
    Ok(shape)
}
