//! `Tensor::transpose` and `Tensor::t`.

use crate::case::{Case, ParamSpec};
use crate::ops::support::arguments::ANY;
use crate::ops::support::moving::gather_map::{VIEWS, contract, draw_x, gathered, shape_of};
use crate::ops::{Contract, Op, rule};

/// `x.transpose(dim1, dim2)`, or `x.t()`, which swaps the last two.
pub static TRANSPOSE: Op = Op {
    name: "tensor.transpose",
    covers: &["Tensor::transpose", "Tensor::t"],
    support: VIEWS,
    inputs: &[ANY],
    params: &[
        ParamSpec::size("dim1", 0, "A dimension.").when("form", "transpose"),
        ParamSpec::size("dim2", 0, "The dimension to swap it with.").when("form", "transpose"),
        ParamSpec::word("form", &["transpose", "t"], "The method."),
    ],
    generate: &|draw| {
        let case = draw_x(draw, 2, 4)?;
        let last = shape_of(&case).len() - 1;
        if draw.one_in(2)? {
            return Ok(case.param("form", "t"));
        }
        let (dim1, dim2) = (draw.between(0, last)?, draw.between(0, last)?);
        Ok(case.param("form", "transpose").param("dim1", dim1).param("dim2", dim2))
    },
    contract: &|case| contract(case, transposed),
    call: &|call| {
        let x = call.tensor("x")?;
        let (dim1, dim2) = (call.size("dim1"), call.size("dim2"));
        Ok(vec![if call.case.text("form") == "t" { x.t()? } else { x.transpose(dim1, dim2)? }])
    },
    source: r#"
        {% if form == "t" %}
        x.t()?
        {% else %}
        x.transpose({{ dim1 }}, {{ dim2 }})?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "t" %}
        x.transpose(-2, -1)
        {% else %}
        x.transpose({{ dim1 }}, {{ dim2 }})
        {% endif %}
    "#,
    reference: Some(&|inputs| {
        gathered(inputs, transposed, |case, x, index| {
            let (a, b) = swapped(case, x.len());
            let mut index = index.to_vec();
            index.swap(a, b);
            Some(index)
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2269-2311; torch.transpose",
};

fn swapped(case: &Case, rank: usize) -> (usize, usize) {
    if case.text("form") == "t" { (rank - 2, rank - 1) } else { (case.size("dim1"), case.size("dim2")) }
}

fn transposed(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    if case.text("form") == "t" && x.len() < 2 {
        return Err(Contract::Rejects(&rule::RANK));
    }
    let (a, b) = swapped(case, x.len());
    if a.max(b) >= x.len() {
        return Err(Contract::Rejects(&rule::DIM));
    }
    let mut shape = x.to_vec();
    shape.swap(a, b);
    Ok(shape)
}
