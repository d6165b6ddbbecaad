//! `Tensor::scatter`, in a copy and in place, and `Tensor::scatter_add` in place.

use crate::case::{Case, InputSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::moving::gather_map::COPIES;
use crate::ops::support::moving::scatter::{
    arguments, covered, draw_scatter, scatter_contract, scatter_shapes, scattered,
};
use crate::ops::tensor::scatter_add::SCATTER_ADD;
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{Value, Values, View};

/// `x.scatter(ids, src, dim)`: `out[.., ids[.., i, ..], ..] = src[.., i, ..]`.
pub static SCATTER: Op = Op {
    name: "tensor.scatter",
    covers: &["Tensor::scatter"],
    support: COPIES,
    inputs: &[
        ANY,
        InputSpec::new("ids", "integers that index `dim` of `x`").discrete(),
        InputSpec::new("src", "shaped as `ids`, or larger"),
    ],
    params: &[DIM],
    generate: &|draw| {
        let (dtype, x, src, dim, id_dtype) = scatter_shapes(draw)?;
        let mut ids = draw.ids(id_dtype, &src, x[dim])?;
        // If two ids name one place, it is open which value wins: mostly count upwards along the dimension instead.
        if draw.one_in(4)? {
            return draw_scatter(draw, dtype, &x, &src, dim, ids);
        }
        let start = draw.between(0, x[dim].saturating_sub(src[dim]))?;
        ids.view = View { broadcast: Vec::new(), ..ids.view };
        let inner: usize = src[dim + 1..].iter().product();
        let along = |position: usize| (start + position / inner.max(1) % src[dim].max(1)) as i64;
        ids.values = Values::List((0..src.iter().product()).map(|position| Value::Int(along(position))).collect());
        draw_scatter(draw, dtype, &x, &src, dim, ids)
    },
    contract: &|case| {
        let Some([x, ids, src]) = arguments(case) else { return Contract::Rejects(&rule::SHAPES) };
        scatter_contract(case, [x, ids, src], false, covered)
    },
    call: &|call| {
        let (ids, src) = (call.tensor("ids")?, call.tensor("src")?);
        Ok(vec![call.tensor("x")?.scatter(ids, src, call.size("dim"))?])
    },
    source: "x.scatter(&ids, &src, {{ dim }})?",
    torch: r#"x.scatter({{ dim }}, {{ ids("ids") }}, src)"#,
    reference: Some(&|inputs| {
        let ids = inputs.ids("ids");
        // Which of several values for one place wins is open, unless they are equal. A derivative does not ask who wins where none moves.
        let is_value = inputs.direction.is_none();
        let is_same = |there: Num, new: Num| there.value == new.value || there.value.is_nan() && new.value.is_nan();
        let contested = |there: Num, new: Num| Num {
            error: there.error.max(new.error),
            slope_error: there.slope_error.max(new.slope_error),
            indeterminate: there.indeterminate || new.indeterminate || is_value && !is_same(there, new),
            kink: there.kink || new.kink || there.slope != 0.0 || new.slope != 0.0,
            ..new
        };
        let combine = |there, new, again| if again { contested(there, new) } else { new };
        scattered(inputs, |index| ids.get(index).copied(), combine)
    }),
    ulps: 4.0,
    differentiable: &["src", "x"],
    promise: "candle-core/src/tensor.rs:1638-1692; torch.Tensor.scatter_ (of several values for one place, one is picked arbitrarily); the largest id of its dtype as for index_add",
};

/// `x.scatter_set(ids, src, dim)`: `scatter` in place.
pub static SCATTER_SET: Op = Op {
    name: "tensor.scatter_set",
    covers: &["Tensor::scatter_set"],
    support: COPIES,
    inputs: &[
        ANY,
        InputSpec::new("ids", "integers that index `dim` of `x`").discrete(),
        InputSpec::new("src", "shaped as `ids`, or larger"),
    ],
    params: &[DIM],
    generate: &|draw| mostly_packed(draw, &SCATTER),
    contract: &|case| in_place(case, &SCATTER),
    call: &|call| {
        let x = call.tensor("x")?.clone();
        x.scatter_set(call.tensor("ids")?, call.tensor("src")?, call.size("dim"))?;
        Ok(vec![x])
    },
    source: r"
        x.scatter_set(&ids, &src, {{ dim }})?;
        x
    ",
    torch: r#"x.scatter_({{ dim }}, {{ ids("ids") }}, src)"#,
    reference: SCATTER.reference,
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:1694-1709; as for scatter",
};

/// `x.scatter_add_set(ids, src, dim)`: `scatter_add` in place.
pub static SCATTER_ADD_SET: Op = Op {
    name: "tensor.scatter_add_set",
    covers: &["Tensor::scatter_add_set"],
    support: COPIES,
    inputs: &[
        ANY,
        InputSpec::new("ids", "integers that index `dim` of `x`").discrete(),
        InputSpec::new("src", "shaped as `ids`, or larger"),
    ],
    params: &[DIM],
    generate: &|draw| mostly_packed(draw, &SCATTER_ADD),
    contract: &|case| in_place(case, &SCATTER_ADD),
    call: &|call| {
        let x = call.tensor("x")?.clone();
        x.scatter_add_set(call.tensor("ids")?, call.tensor("src")?, call.size("dim"))?;
        Ok(vec![x])
    },
    source: r"
        x.scatter_add_set(&ids, &src, {{ dim }})?;
        x
    ",
    torch: r#"x.scatter_add_({{ dim }}, {{ ids("ids") }}, src)"#,
    reference: SCATTER_ADD.reference,
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:1733-1747; as for scatter_add",
};

/// A case of the copying op, mostly contiguous.
fn mostly_packed(draw: &mut Draw, copying: &Op) -> arbitrary::Result<Case> {
    let case = (copying.generate)(draw)?;
    Ok(if draw.one_in(8)? { case } else { case.contiguous() })
}

/// The contract of the copying op. A tensor that is written in place must be contiguous, and may be asked to lie in another buffer
/// than what is read.
fn in_place(case: &Case, copying: &Op) -> Contract {
    let strided = case.tensor("x").is_some_and(|x| !x.view.is_contiguous());
    let shares = case.share("x", "src") || case.share("x", "ids");
    match copying.contract(case) {
        Contract::Accepts { outputs, .. } if shares => Contract::Accepts { outputs, refusal: Some(why::SHARED) },
        contract => contract.may_refuse(strided, why::CONTIGUOUS),
    }
}
