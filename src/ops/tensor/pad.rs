//! `Tensor::pad_with_zeros` and `Tensor::pad_with_same`.

use crate::case::{Case, ParamSpec};
use crate::generate::Draw;
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::moving::gather_map::{COPIES, TOO_LARGE, contract, draw_x, gathered, shape_of};
use crate::ops::{Contract, Op, rule};

/// The params of both ops.
const PARAMS: &[ParamSpec] = &[
    DIM,
    ParamSpec::size("left", 0, "How many entries to add before."),
    ParamSpec::size("right", 0, "How many entries to add after."),
];

/// `x.pad_with_zeros(dim, left, right)`: zeros before and after the entries along `dim`.
pub static PAD_WITH_ZEROS: Op = Op {
    name: "tensor.pad_with_zeros",
    covers: &["Tensor::pad_with_zeros"],
    support: COPIES,
    inputs: &[ANY],
    params: PARAMS,
    generate: &|draw| along(draw),
    contract: &|case| contract(case, padded),
    call: &|call| {
        let (dim, left, right) = (call.size("dim"), call.size("left"), call.size("right"));
        Ok(vec![call.tensor("x")?.pad_with_zeros(dim, left, right)?])
    },
    source: "x.pad_with_zeros({{ dim }}, {{ left }}, {{ right }})?",
    torch: r#"
        {% set later = "0, 0, " * (inputs.x.shape|length - 1 - dim) %}
        F.pad(x, ({{ later }}{{ left }}, {{ right }}))
    "#,
    reference: Some(&|inputs| {
        gathered(inputs, padded, |case, _, index| {
            let mut index = index.to_vec();
            let dim = case.size("dim");
            index[dim] = index[dim].checked_sub(case.size("left"))?;
            Some(index)
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2684-2710; torch.nn.functional.pad",
};

/// `x.pad_with_same(dim, left, right)`: repeats the first and the last slice along `dim`.
pub static PAD_WITH_SAME: Op = Op {
    name: "tensor.pad_with_same",
    covers: &["Tensor::pad_with_same"],
    support: COPIES,
    inputs: &[ANY],
    params: PARAMS,
    generate: &|draw| along(draw),
    contract: &|case| {
        let x = shape_of(case);
        let is_padded = case.size("left").max(case.size("right")) > 0;
        match contract(case, padded) {
            Contract::Accepts { .. } if is_padded && x[case.size("dim")] == 0 => Contract::Rejects(&rule::EMPTY_BORDER),
            other => other.may_refuse(is_padded && x.contains(&0), "padding of an empty tensor"),
        }
    },
    call: &|call| {
        let (dim, left, right) = (call.size("dim"), call.size("left"), call.size("right"));
        Ok(vec![call.tensor("x")?.pad_with_same(dim, left, right)?])
    },
    source: "x.pad_with_same({{ dim }}, {{ left }}, {{ right }})?",
    torch: r"
        {% set size = inputs.x.shape[dim] %}
        places = torch.arange({{ -left }}, {{ size + right }}).clamp(0, {{ size - 1 }})
        x.index_select({{ dim }}, places)
    ",
    reference: Some(&|inputs| {
        gathered(inputs, padded, |case, x, index| {
            let mut index = index.to_vec();
            let dim = case.size("dim");
            index[dim] = index[dim].saturating_sub(case.size("left")).min(x[dim] - 1);
            Some(index)
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2712-2749; torch.nn.functional.pad with mode \"replicate\"",
};

fn along(draw: &mut Draw) -> arbitrary::Result<Case> {
    let case = draw_x(draw, 1, 4)?;
    let rank = shape_of(&case).len();
    let dim = draw.between(0, rank - 1)?;
    let (left, right) = (draw.between(0, 3)?, draw.between(0, 3)?);
    Ok(case.param("dim", dim).param("left", left).param("right", right))
}

fn padded(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let (dim, left, right) = (case.size("dim"), case.size("left"), case.size("right"));
    if dim >= x.len() {
        return Err(Contract::Rejects(&rule::DIM));
    }
    if left.max(right) > 1 << 8 {
        return Err(TOO_LARGE);
    }
    let mut shape = x.to_vec();
    shape[dim] += left + right;
    Ok(shape)
}
