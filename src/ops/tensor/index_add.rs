//! `Tensor::index_add`.

use crate::case::InputSpec;
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::elements::elementwise::with_integers;
use crate::ops::support::moving::gather_map::COPIES;
use crate::ops::support::moving::scatter::{alike, arguments, draw_scatter, scatter_contract, scattered};
use crate::ops::{Contract, Op, rule};

/// `x.index_add(ids, src, dim)`: the slices of `src` along `dim` added to those of `x` that `ids` names.
pub static INDEX_ADD: Op = Op {
    name: "tensor.index_add",
    covers: &["Tensor::index_add"],
    support: COPIES,
    inputs: &[
        ANY,
        InputSpec::new("ids", "(S), integers that index `dim`").discrete(),
        InputSpec::new("src", "shaped as `x`, with S entries along `dim`"),
    ],
    params: &[DIM],
    generate: &|draw| {
        let x = draw.open_shape(1, 3)?;
        let dim = draw.between(0, x.len() - 1)?;
        let count = if x[dim] == 0 { 0 } else { draw.size()? };
        let (dtype, id_dtype) = (draw.dtype(COPIES)?, draw.id_dtype()?);
        let ids = draw.ids(id_dtype, &[count], x[dim])?;
        let mut src = x.clone();
        src[dim] = count;
        let mut case = draw_scatter(draw, dtype, &x, &src, dim, ids)?;
        // Integers whose sums stay in range: overflow is unspecified.
        for (name, tensor) in &mut case.inputs {
            if name != "ids" && !tensor.dtype.is_float() {
                *tensor = with_integers(tensor, |value| value % 8);
            }
        }
        Ok(case)
    },
    contract: &|case| {
        let Some([x, ids, src]) = arguments(case) else { return Contract::Rejects(&rule::SHAPES) };
        if ids.shape.len() != 1 {
            return Contract::Rejects(&rule::RANK);
        }
        scatter_contract(case, [x, ids, src], true, |all, dim| alike(all, dim) && ids.shape[0] == src.shape[dim])
    },
    call: &|call| {
        let (ids, src) = (call.tensor("ids")?, call.tensor("src")?);
        Ok(vec![call.tensor("x")?.index_add(ids, src, call.size("dim"))?])
    },
    source: "x.index_add(&ids, &src, {{ dim }})?",
    torch: r#"x.index_add({{ dim }}, {{ ids("ids") }}, src)"#,
    reference: Some(&|inputs| {
        let dim = inputs.case.size("dim");
        let ids = inputs.ids("ids");
        scattered(inputs, |index| ids.get([index[dim]].as_slice()).copied(), |old, new, _| old + new)
    }),
    ulps: 4.0,
    differentiable: &["src", "x"],
    promise: "candle-core/src/tensor.rs:1819-1861; torch.Tensor.index_add_; an id that equals its dtype's maximum and \
              lies outside the dimension writes nothing by design (candle PR #2940)",
};
