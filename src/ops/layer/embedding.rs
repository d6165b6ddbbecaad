//! `candle_nn::Embedding`.

use candle_core::Module;
use ndarray::IxDyn;

use crate::case::{Case, InputSpec, ParamSpec};
use crate::ops::support::moving::ids::{bad_id, id_rules, selected};
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{DType, Support};

/// `Embedding::new(weight (V, H), hidden)` of `ids` of any shape: rows of `weight`, shape `ids.shape + [H]`.
pub static EMBEDDING: Op = Op {
    name: "layer.embedding",
    covers: &["Embedding", "Embedding::new"],
    support: &Support { of: "weight", cpu: &DType::ALL, cuda: &DType::STANDARD },
    inputs: &[
        InputSpec::new("ids", "of any shape, integers below V").discrete(),
        InputSpec::new("weight", "(V, H): one row per id"),
    ],
    params: &[ParamSpec::size("hidden", 0, "The hidden size that the layer is given.")],
    generate: &|draw| {
        let (rows, hidden) = (draw.positive()?, draw.size()?);
        let shape = draw.open_shape(0, 3)?;
        let (dtype, id_dtype) = (draw.dtype(EMBEDDING.support)?, draw.id_dtype()?);
        let ids = draw.ids(id_dtype, &shape, rows)?;
        let weight = draw.tensor(dtype, &[rows, hidden])?;
        let mut case = Case::default().input("weight", weight).input("ids", ids).param("hidden", hidden);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: &|case| {
        let (Some(weight), Some(ids)) = (case.tensor("weight"), case.tensor("ids")) else {
            return Contract::Rejects(&rule::SHAPES);
        };
        if weight.shape.len() != 2 {
            return Contract::Rejects(&rule::TABLE_RANK);
        }
        let hidden = weight.shape[1];
        if case.size("hidden") != hidden {
            return Contract::Rejects(&rule::HIDDEN_SIZE);
        }
        if hidden == 0 && bad_id(ids, weight.shape[0]) {
            return Contract::Unspecified("an id out of range, but nothing to read");
        }
        let mut shape = ids.shape.clone();
        shape.push(hidden);
        let contract = id_rules(ids, weight.shape[0], Contract::accepts(weight.dtype, &shape));
        contract.may_refuse(!weight.view.is_contiguous(), why::CONTIGUOUS)
    },
    call: &|call| {
        let layer = candle_nn::Embedding::new(call.tensor("weight")?.clone(), call.size("hidden"));
        Ok(vec![layer.forward(call.tensor("ids")?)?])
    },
    source: "candle_nn::Embedding::new(weight, {{ hidden }}).forward(&ids)?",
    torch: r#"F.embedding({{ ids("ids") }}, weight)"#,
    reference: Some(&|inputs| {
        let ids = inputs.ids("ids");
        let rows = selected(&inputs.spread("weight").view(), &ids.iter().copied().collect::<Vec<_>>(), 0);
        let mut shape = ids.shape().to_vec();
        shape.push(rows.shape()[1]);
        vec![rows.into_shape_with_order(IxDyn(&shape)).expect("the ids' shape and the hidden size")]
    }),
    ulps: 4.0,
    differentiable: &["weight"],
    promise: "candle-nn/src/embedding.rs:30-39; torch.nn.Embedding, which rejects a table of another width than its own; \
              the largest id of its dtype as for gather",
};
