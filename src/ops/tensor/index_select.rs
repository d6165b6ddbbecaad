//! `Tensor::index_select`.

use crate::case::InputSpec;
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::moving::gather_map::COPIES;
use crate::ops::support::moving::ids::{bad_id, dim, draw_reads, id_rules, selected};
use crate::ops::{Contract, Op, rule, why};

/// `x.index_select(ids, dim)`: the slices of `x` along `dim` that `ids` (one dimension) names.
pub static INDEX_SELECT: Op = Op {
    name: "tensor.index_select",
    covers: &["Tensor::index_select"],
    support: COPIES,
    inputs: &[ANY, InputSpec::new("ids", "(S), integers that index `dim`").discrete()],
    params: &[DIM],
    generate: &|draw| {
        let x = draw.open_shape(1, 3)?;
        let dim = draw.between(0, x.len() - 1)?;
        let count = if x[dim] == 0 { 0 } else { draw.size()? };
        draw_reads(draw, &x, &[count], dim)
    },
    contract: &|case| {
        let (Some(x), Some(ids)) = (case.tensor("x"), case.tensor("ids")) else {
            return Contract::Rejects(&rule::SHAPES);
        };
        if ids.shape.len() != 1 {
            return Contract::Rejects(&rule::RANK);
        }
        let Some(dim) = dim(case, x) else { return Contract::Rejects(&rule::DIM) };
        let mut shape = x.shape.clone();
        shape[dim] = ids.shape[0];
        let contract = id_rules(ids, x.shape[dim], Contract::accepts(x.dtype, &shape));
        if x.shape.iter().enumerate().any(|(d, &n)| d != dim && n == 0) && bad_id(ids, x.shape[dim]) {
            return Contract::Unspecified("an id out of range, but nothing to read");
        }
        // Strided ids are read through their stride (candle-core/src/cpu_backend/mod.rs:741).
        contract.may_refuse(!x.view.is_contiguous(), why::CONTIGUOUS)
    },
    call: &|call| Ok(vec![call.tensor("x")?.index_select(call.tensor("ids")?, call.size("dim"))?]),
    source: "x.index_select(&ids, {{ dim }})?",
    torch: r#"x.index_select({{ dim }}, {{ ids("ids") }})"#,
    reference: Some(&|inputs| {
        let dim = inputs.case.size("dim");
        vec![selected(&inputs.spread("x").view(), &inputs.ids("ids").iter().copied().collect::<Vec<_>>(), dim)]
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1910-1947 (index_select's documentation); torch.index_select; the largest id \
              of \
              its dtype as for gather",
};
