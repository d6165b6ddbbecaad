//! `Tensor::gather`.

use ndarray::{ArrayD, Dimension};

use crate::case::InputSpec;
use crate::number::Num;
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::moving::gather_map::COPIES;
use crate::ops::support::moving::ids::{dim, draw_reads, id_rules};
use crate::ops::{Contract, Op, rule, why};

/// `x.gather(ids, dim)`: `out[.., i, ..] = x[.., ids[.., i, ..], ..]`, shaped as `ids`.
pub static GATHER: Op = Op {
    name: "tensor.gather",
    covers: &["Tensor::gather"],
    support: COPIES,
    inputs: &[
        ANY,
        InputSpec::new("ids", "integers that index `dim`; its other sizes are at most those of `x`").discrete(),
    ],
    params: &[DIM],
    generate: &|draw| {
        let x = draw.open_shape(1, 3)?;
        let dim = draw.between(0, x.len() - 1)?;
        let mut shape = Vec::new();
        for (d, &n) in x.iter().enumerate() {
            // Ids may be shorter than x along the other dimensions.
            let shorter = d != dim && n > 1 && draw.one_in(6)?;
            shape.push(if d == dim { if n == 0 { 0 } else { draw.size()? } } else { n - usize::from(shorter) });
        }
        draw_reads(draw, &x, &shape, dim)
    },
    contract: &|case| {
        let (Some(x), Some(ids)) = (case.tensor("x"), case.tensor("ids")) else {
            return Contract::Rejects(&rule::SHAPES);
        };
        if ids.shape.len() != x.shape.len() {
            return Contract::Rejects(&rule::RANK);
        }
        let Some(dim) = dim(case, x) else { return Contract::Rejects(&rule::DIM) };
        if x.shape.iter().zip(&ids.shape).enumerate().any(|(d, (&x, &ids))| d != dim && ids > x) {
            return Contract::Rejects(&rule::SHAPES);
        }
        let contract = id_rules(ids, x.shape[dim], Contract::accepts(x.dtype, &ids.shape));
        contract.may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
    },
    call: &|call| Ok(vec![call.tensor("x")?.gather(call.tensor("ids")?, call.size("dim"))?]),
    source: "x.gather(&ids, {{ dim }})?",
    torch: r#"x.gather({{ dim }}, {{ ids("ids") }})"#,
    reference: Some(&|inputs| {
        let (x, ids) = (inputs.spread("x"), inputs.ids("ids"));
        let x = x.view();
        let dim = inputs.case.size("dim");
        let picked = ids.indexed_iter().map(|(index, &id)| {
            let mut index = index.slice().to_vec();
            index[dim] = usize::try_from(id).unwrap_or(usize::MAX);
            x.get(index.as_slice()).map_or(Num::exact(0.0), |x| x.read_often(ids.shape()[dim]))
        });
        let picked = picked.collect();
        vec![ArrayD::from_shape_vec(ids.raw_dim(), picked).expect("one value per id")]
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1863-1908 (gather's documentation); torch.gather; an id that equals its dtype's \
              maximum and lies outside the dimension reads 0 by design (candle PR #2940)",
};
