//! A layer that is made by a `VarBuilder`, trained, saved and loaded.

use std::path::Path;

use candle_core::{Module, Result, Tensor};
use candle_nn::{Linear, Optimizer, SGD, VarBuilder, VarMap};
use ndarray::{ArrayD, Axis, IxDyn};

use crate::case::{Backward, Case, InputSpec};
use crate::number::Num;
use crate::ops::support::dtypes::FLOATS;
use crate::ops::{Call, Contract, Op, rule, why};
use crate::tensor::Tensor as Data;

/// The learning rate, exact in every dtype.
const RATE: f64 = 0.5;

/// A `Linear` of the variables `weight` and `bias` after a step of `SGD` down the sum of its outputs; and one of another `VarMap` that
/// loads the file of the first.
pub static TRAINED_LAYER: Op = Op {
    name: "state.trained_layer",
    covers: &["VarMap", "VarBuilder::from_varmap", "VarMap::set_one", "VarMap::save", "VarMap::load", "linear", "SGD"],
    support: FLOATS,
    inputs: &[
        InputSpec::new("x", "(N, I)"),
        InputSpec::new("weight", "(O, I): the first weights"),
        InputSpec::new("bias", "(O)"),
    ],
    params: &[],
    generate: &|draw| {
        let dtype = draw.dtype(FLOATS)?;
        let (rows, inner, outer) = (draw.positive()?, draw.positive()?, draw.positive()?);
        let case = Case { backward: Backward::None, ..Case::default() };
        let case = case.input("x", draw.tensor(dtype, &[rows, inner])?);
        let case = case.input("weight", draw.tensor(dtype, &[outer, inner])?);
        Ok(case.input("bias", draw.tensor(dtype, &[outer])?))
    },
    contract: &|case| {
        let inputs = ["x", "weight", "bias"].map(|name| case.tensor(name));
        let [Some(x), Some(weight), Some(bias)] = inputs else { return Contract::Rejects(&rule::SHAPES) };
        let (&[rows, inner], &[outer, of]) = (x.shape.as_slice(), weight.shape.as_slice()) else {
            return Contract::Unspecified("a layer of another number of dimensions");
        };
        let tensors: [&Data; 3] = [x, weight, bias];
        if inner != of || bias.shape != [outer] {
            return Contract::Rejects(&rule::SHAPES);
        }
        if tensors.iter().any(|tensor| tensor.dtype != x.dtype) {
            return Contract::Unspecified("a `VarBuilder` has only one dtype");
        }
        if !x.dtype.is_float() {
            return Contract::Unspecified("parameters of integers");
        }
        if [rows, inner, outer].contains(&0) {
            return Contract::Unspecified("a layer without values");
        }
        let outputs = vec![(x.dtype, vec![rows, outer]); 2];
        let accepts = Contract::Accepts { outputs, refusal: None };
        accepts.may_refuse(!x.view.is_contiguous(), why::CONTIGUOUS)
    },
    call: &|call| {
        let path = std::env::temp_dir().join(format!("snuffer-layer-{}", std::process::id()));
        let outputs = trained(call, &path);
        // A call that is refused may have made no file.
        let _ = std::fs::remove_file(&path);
        outputs
    },
    source: r#"
        {% set outer, inner = inputs.weight.shape %}
        use candle_nn::{Optimizer, SGD, VarBuilder, VarMap};
        let (mut first, mut second) = (VarMap::new(), VarMap::new());
        let layer = candle_nn::linear({{ inner }}, {{ outer }}, VarBuilder::from_varmap(&first, x.dtype(), &device))?;
        first.set([("weight", &weight), ("bias", &bias)].into_iter())?;
        let mut optimizer = SGD::new(first.all_vars(), 0.5)?;
        optimizer.backward_step(&layer.forward(&x)?.sum_all()?)?;
        let path = std::env::temp_dir().join(format!("layer-{}", std::process::id()));
        first.save(&path)?;
        let other = candle_nn::linear({{ inner }}, {{ outer }}, VarBuilder::from_varmap(&second, x.dtype(), &device))?;
        second.load(&path)?;
        std::fs::remove_file(&path)?;
        let outputs = [layer.forward(&x)?.detach(), other.forward(&x)?.detach()];
    "#,
    // Programs for PyTorch are one expression of each input; `state_dict` needs a module.
    torch: "",
    reference: Some(&|inputs| {
        let [x, weight, bias] = ["x", "weight", "bias"].map(|name| inputs.array(name));
        let sum = |values: ndarray::ArrayView1<Num>| Num::dot(values.iter().map(|&value| (value, Num::exact(1.0))));
        let step = |old: Num, gradient: Num| old - Num::exact(RATE) * gradient;
        // Each output has the gradient 1, so that a weight has the sum of what it is multiplied by.
        let sums: Vec<Num> = x.lanes(Axis(0)).into_iter().map(sum).collect();
        let rows = Num { unit: bias[[0]].unit, ..Num::exact(x.shape()[0] as f64) };
        let output = ArrayD::from_shape_fn(IxDyn(&[x.shape()[0], weight.shape()[0]]), |at| {
            let weights = sums.iter().enumerate().map(|(i, &gradient)| step(weight[[at[1], i]], gradient));
            let row = x.index_axis(Axis(0), at[0]);
            Num::dot(row.iter().copied().zip(weights)) + step(bias[[at[1]]], rows)
        });
        vec![output.clone(), output]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/linear.rs, var_builder.rs, var_map.rs, optim.rs:29-84; torch.nn.Linear, torch.optim.SGD without momentum, \
              torch.nn.Module.load_state_dict",
};

fn trained(call: &Call, path: &Path) -> Result<Vec<Tensor>> {
    let [x, weight, bias] = [call.tensor("x")?, call.tensor("weight")?, call.tensor("bias")?];
    let (outer, inner) = weight.dims2()?;
    let (mut first, mut second) = (VarMap::new(), VarMap::new());
    let made = |map: &VarMap| -> Result<Linear> {
        candle_nn::linear(inner, outer, VarBuilder::from_varmap(map, x.dtype(), call.device))
    };
    let layer = made(&first)?;
    first.set([("weight", weight), ("bias", bias)].into_iter())?;
    let mut optimizer = SGD::new(first.all_vars(), RATE)?;
    optimizer.backward_step(&layer.forward(x)?.sum_all()?)?;
    first.save(path)?;
    let other = made(&second)?;
    second.load(path)?;
    Ok(vec![layer.forward(x)?.detach(), other.forward(x)?.detach()])
}
