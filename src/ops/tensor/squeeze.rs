//! `Tensor::squeeze` and `Tensor::unsqueeze`.

use crate::case::{Case, ParamSpec};
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::moving::gather_map::{VIEWS, contract, draw_x, in_order, shape_of};
use crate::ops::{Contract, Op, rule};

/// `x.squeeze(dim)`: removes the dimension `dim` if its size is 1; `x.unsqueeze(dim)`: adds such a
/// dimension.
pub static SQUEEZE: Op = Op {
    name: "tensor.squeeze",
    covers: &["Tensor::squeeze", "Tensor::unsqueeze"],
    support: VIEWS,
    inputs: &[ANY],
    params: &[DIM, ParamSpec::word("form", &["squeeze", "unsqueeze"], "The method.")],
    generate: &|draw| {
        let case = draw_x(draw, 1, 4)?;
        let unsqueezes = draw.one_in(2)?;
        let dim = draw.between(0, shape_of(&case).len() - usize::from(!unsqueezes))?;
        Ok(case.param("form", if unsqueezes { "unsqueeze" } else { "squeeze" }).param("dim", dim))
    },
    contract: &|case| contract(case, squeezed),
    call: &|call| {
        let (x, dim) = (call.tensor("x")?, call.size("dim"));
        Ok(vec![if call.case.text("form") == "unsqueeze" { x.unsqueeze(dim)? } else { x.squeeze(dim)? }])
    },
    source: "x.{{ 'unsqueeze' if form == 'unsqueeze' else 'squeeze' }}({{ dim }})?",
    torch: "x.{{ 'unsqueeze' if form == 'unsqueeze' else 'squeeze' }}({{ dim }})",
    reference: Some(&|inputs| in_order(inputs, squeezed)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2582-2653; torch.squeeze, torch.unsqueeze",
};

fn squeezed(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let (dim, unsqueezes) = (case.size("dim"), case.text("form") == "unsqueeze");
    if dim >= x.len() + usize::from(unsqueezes) {
        return Err(Contract::Rejects(&rule::DIM));
    }
    let mut shape = x.to_vec();
    if unsqueezes {
        shape.insert(dim, 1);
    } else if shape[dim] == 1 {
        shape.remove(dim);
    }
    Ok(shape)
}
