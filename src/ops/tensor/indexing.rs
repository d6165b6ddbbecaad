//! Reading at ids: `gather`, `index_select` and `nn::Embedding`.

use std::collections::BTreeMap;

use candle_core::Module;
use ndarray::{ArrayD, Dimension, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::ids::{bad_id, dim, id_rules};
use crate::ops::{Contract, Op, ReferenceInputs, is_sentinel, why};
use crate::tensor::{DType, Support, Tensor};

/// `x.gather(ids, dim)`: `out[.., i, ..] = x[.., ids[.., i, ..], ..]`, shaped as `ids`.
pub static GATHER: Op = Op {
    name: "tensor.gather",
    covers: &["Tensor::gather"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| {
        let x = draw.shape(1, 3)?;
        let dim = draw.between(0, x.len() - 1)?;
        let mut shape = Vec::new();
        for (d, &n) in x.iter().enumerate() {
            // Along the other dimensions ids may be shorter than x.
            let shorter = d != dim && n > 1 && draw.one_in(6)?;
            shape.push(if d == dim { if n == 0 { 0 } else { draw.size()? } } else { n - usize::from(shorter) });
        }
        reading(draw, &x, &shape, dim)
    },
    contract: |case| {
        let (Some(x), Some(ids)) = (case.tensor("x"), case.tensor("ids")) else {
            return Contract::Rejects(why::SHAPES);
        };
        if ids.shape.len() != x.shape.len() {
            return Contract::Rejects(why::RANK);
        }
        let Some(dim) = dim(case, x) else { return Contract::Rejects(why::DIM) };
        if x.shape.iter().zip(&ids.shape).enumerate().any(|(d, (&x, &ids))| d != dim && ids > x) {
            return Contract::Rejects(why::SHAPES);
        }
        let contract = id_rules(ids, x.shape[dim], Contract::accepts(x.dtype, &ids.shape));
        contract.may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
    },
    call: |call| Ok(vec![call.tensor("x")?.gather(call.tensor("ids")?, call.size("dim", 0))?]),
    source: "x.gather(&ids, {{ dim|default(0) }})?",
    torch: r#"x.gather({{ dim|default(0) }}, {{ ids("ids") }})"#,
    reference: Some(|inputs| {
        let (x, ids) = (inputs.array("x"), inputs.ids("ids"));
        let dim = usize::try_from(inputs.case.int("dim", 0)).unwrap_or(0);
        let picked = ids.indexed_iter().map(|(index, &id)| {
            let mut index = index.slice().to_vec();
            index[dim] = usize::try_from(id).unwrap_or(usize::MAX);
            x.get(index.as_slice()).map_or(Num::exact(0.0), |x| x.read_often(ids.shape()[dim]))
        });
        let picked = picked.collect();
        vec![ArrayD::from_shape_vec(ids.raw_dim(), picked).expect("one value per id")]
    }),
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1863-1908 (gather's documentation); torch.gather; an id that equals its dtype's \
              maximum and lies outside the dimension reads 0 by design (candle PR #2940)",
    ulps: 4.0,
};

/// `x.index_select(ids, dim)`: the slices of `x` along `dim` that `ids` (one dimension) names.
pub static INDEX_SELECT: Op = Op {
    name: "tensor.index_select",
    covers: &["Tensor::index_select"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| {
        let x = draw.shape(1, 3)?;
        let dim = draw.between(0, x.len() - 1)?;
        let count = if x[dim] == 0 { 0 } else { draw.size()? };
        reading(draw, &x, &[count], dim)
    },
    contract: |case| {
        let (Some(x), Some(ids)) = (case.tensor("x"), case.tensor("ids")) else {
            return Contract::Rejects(why::SHAPES);
        };
        if ids.shape.len() != 1 {
            return Contract::Rejects(why::RANK);
        }
        let Some(dim) = dim(case, x) else { return Contract::Rejects(why::DIM) };
        let mut shape = x.shape.clone();
        shape[dim] = ids.shape[0];
        let contract = id_rules(ids, x.shape[dim], Contract::accepts(x.dtype, &shape));
        if x.shape.iter().enumerate().any(|(d, &n)| d != dim && n == 0) && bad_id(ids, x.shape[dim]) {
            return Contract::Unspecified("an id out of range where nothing is read");
        }
        // Strided ids are read through their stride (candle-core/src/cpu_backend/mod.rs:741).
        contract.may_refuse(!x.view.is_contiguous(), why::CONTIGUOUS)
    },
    call: |call| Ok(vec![call.tensor("x")?.index_select(call.tensor("ids")?, call.size("dim", 0))?]),
    source: "x.index_select(&ids, {{ dim|default(0) }})?",
    torch: r#"x.index_select({{ dim|default(0) }}, {{ ids("ids") }})"#,
    reference: Some(|inputs| {
        let dim = usize::try_from(inputs.case.int("dim", 0)).unwrap_or(0);
        vec![selected(&inputs.array("x"), &inputs.ids("ids").iter().copied().collect::<Vec<_>>(), dim)]
    }),
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1910-1947 (index_select's documentation); torch.index_select; the largest id of \
              its dtype as for gather",
    ulps: 4.0,
};

/// `Embedding::new(weight (V, H), hidden)` of `ids` of any shape: rows of `weight`, shape `ids.shape + [H]`.
pub static EMBEDDING: Op = Op {
    name: "layer.embedding",
    covers: &["Embedding"],
    support: &Support { of: "weight", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| {
        let (rows, hidden) = (draw.positive()?, draw.size()?);
        let shape = draw.shape(0, 3)?;
        let (dtype, id_dtype) = (draw.dtype(GATHER.support)?, draw.id_dtype()?);
        let ids = draw.ids(id_dtype, &shape, rows)?;
        let weight = draw.tensor(dtype, &[rows, hidden])?;
        let mut case = Case::default().input("weight", weight).input("ids", ids).param("hidden", hidden);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: |case| {
        let (Some(weight), Some(ids)) = (case.tensor("weight"), case.tensor("ids")) else {
            return Contract::Rejects(why::SHAPES);
        };
        if weight.shape.len() != 2 {
            return Contract::Unspecified("a table of other than two dimensions");
        }
        let hidden = weight.shape[1];
        if usize::try_from(case.int("hidden", 0)).ok() != Some(hidden) {
            return Contract::Unspecified("a hidden size that is not the table's");
        }
        if hidden == 0 && bad_id(ids, weight.shape[0]) {
            return Contract::Unspecified("an id out of range where nothing is read");
        }
        let mut shape = ids.shape.clone();
        shape.push(hidden);
        let contract = id_rules(ids, weight.shape[0], Contract::accepts(weight.dtype, &shape));
        contract.may_refuse(!weight.view.is_contiguous(), why::CONTIGUOUS)
    },
    call: |call| {
        let layer = candle_nn::Embedding::new(call.tensor("weight")?.clone(), call.size("hidden", 0));
        Ok(vec![layer.forward(call.tensor("ids")?)?])
    },
    source: "candle_nn::Embedding::new(weight, {{ hidden|default(0) }}).forward(&ids)?",
    torch: r#"F.embedding({{ ids("ids") }}, weight)"#,
    reference: Some(|inputs| {
        let ids = inputs.ids("ids");
        let rows = selected(&inputs.array("weight"), &ids.iter().copied().collect::<Vec<_>>(), 0);
        let mut shape = ids.shape().to_vec();
        shape.push(rows.shape()[1]);
        vec![rows.into_shape_with_order(IxDyn(&shape)).expect("the ids' shape and the hidden size")]
    }),
    differentiable: &["weight"],
    promise: "candle-nn/src/embedding.rs:30-39; torch.nn.Embedding; the largest id of its dtype as for gather",
    ulps: 4.0,
};

fn reading(draw: &mut Draw, x: &[usize], ids: &[usize], dim: usize) -> arbitrary::Result<Case> {
    let (dtype, id_dtype) = (draw.dtype(GATHER.support)?, draw.id_dtype()?);
    let ids: Tensor = draw.ids(id_dtype, ids, x[dim])?;
    let mut case = Case::default().input("x", draw.tensor(dtype, x)?).input("ids", ids).param("dim", dim);
    case.backward = draw.backward()?;
    Ok(case)
}

/// The slices of `x` along `dim` at `ids`; zeros for the sentinel.
fn selected(x: &ArrayD<Num>, ids: &[i64], dim: usize) -> ArrayD<Num> {
    let mut shape = x.shape().to_vec();
    shape[dim] = ids.len();
    let mut times = BTreeMap::new();
    for id in ids {
        *times.entry(id).or_default() += 1;
    }
    ArrayD::from_shape_fn(IxDyn(&shape), |index| {
        let mut index = index.slice().to_vec();
        let id = ids[index[dim]];
        index[dim] = usize::try_from(id).unwrap_or(usize::MAX);
        x.get(index.as_slice()).map_or(Num::exact(0.0), |x| x.read_often(times[&id]))
    })
}

/// Whether `id` of `ids` writes nothing, by design.
pub fn skipped(inputs: &ReferenceInputs, id: i64, size: usize) -> bool {
    inputs.case.tensor("ids").is_some_and(|ids| is_sentinel(id, ids.dtype, size))
}
