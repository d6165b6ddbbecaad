//! `Linear` of each half of a batch, on one device and on two.

use std::collections::BTreeMap;

use candle_core::{Device, Module, Result, Tensor};

use crate::case::Case;
use crate::generate::Draw;
use crate::ops::layer::linear::LINEAR;
use crate::ops::support::arguments::ELSEWHERE;
use crate::ops::support::moving::gather_map::shape_of;
use crate::ops::support::other_device::{OBJECTS, sent, there};
use crate::ops::support::relation::{call_halves, draw_contiguous, halves_contract};
use crate::ops::{Call, Op};

/// Where the contract of the ops on two devices comes from.
const THERE_PROMISE: &str =
    "candle-core/src/backprop.rs:707: a copy to another device changes no value, and its gradient comes back";

/// `Linear` of the first half of the batch, and of the rest on the other device, with copies of the parameters.
pub static LINEAR_APART: Op = Op {
    name: "relation.linear_apart",
    covers: &["Tensor::to_device", "Linear"],
    support: LINEAR.support,
    inputs: LINEAR.inputs,
    params: &[ELSEWHERE],
    generate: &generate_there,
    contract: &|case| halves_contract(case, &LINEAR),
    call: &|call| {
        let there = there(call)?;
        let halves = call.tensor("x")?.chunk(2, 0)?.into_iter().zip([call.device, &there]);
        let outputs =
            halves.map(|(half, device)| layer(call, device)?.forward(&half.to_device(device)?)?.to_device(call.device));
        Ok(vec![Tensor::cat(&outputs.collect::<Result<Vec<_>>>()?, 0)?])
    },
    source: r#"
        let mut halves = Vec::new();
        for (half, there) in x.chunk(2, 0)?.iter().zip([&device, {{ there }}]) {
            let bias = {{ "Some(bias.to_device(there)?)" if inputs.bias else "None" }};
            let layer = candle_nn::Linear::new(weight.to_device(there)?, bias);
            halves.push(layer.forward(&half.to_device(there)?)?.to_device(&device)?);
        }
        Tensor::cat(&halves, 0)?
    "#,
    // Programs for PyTorch use one device.
    torch: "",
    reference: LINEAR.reference,
    ulps: LINEAR.ulps,
    differentiable: LINEAR.differentiable,
    promise: THERE_PROMISE,
};

/// `Linear` of each half of the batch.
pub static LINEAR_SPLIT: Op = Op {
    name: "relation.linear_split",
    covers: &["Linear"],
    support: LINEAR.support,
    inputs: LINEAR.inputs,
    params: LINEAR.params,
    generate: &|draw| draw_contiguous(draw, &LINEAR, |case| shape_of(case).len() > 1),
    contract: &|case| halves_contract(case, &LINEAR),
    call: &|call| call_halves(call, &LINEAR),
    source: r#"
        {% filter replace("layer.forward(&x)?", "") %}{% include "layer.linear" %}{% endfilter %}
        let halves = x.chunk(2, 0)?.iter().map(|half| layer.forward(half)).collect::<Result<Vec<_>>>()?;
        Tensor::cat(&halves, 0)?
    "#,
    // A relation between calls of candle.
    torch: "",
    reference: LINEAR.reference,
    ulps: 4.0,
    // The entries of the ops themselves judge gradients.
    differentiable: &[],
    promise: "the entries of a batch are independent",
};

/// `Linear` with its parameters on the other device: `x` is copied there and the output back.
pub static LINEAR_THERE: Op = Op {
    name: "relation.linear_there",
    covers: &["Tensor::to_device", "Linear"],
    support: LINEAR.support,
    inputs: LINEAR.inputs,
    params: &[ELSEWHERE],
    generate: &generate_there,
    contract: &|case| halves_contract(case, &LINEAR),
    call: &|call| {
        let there = there(call)?;
        Ok(vec![layer(call, &there)?.forward(&call.tensor("x")?.to_device(&there)?)?.to_device(call.device)?])
    },
    source: r#"
        let there = {{ there }};
        let bias = {{ "Some(bias.to_device(there)?)" if inputs.bias else "None" }};
        let layer = candle_nn::Linear::new(weight.to_device(there)?, bias);
        layer.forward(&x.to_device(there)?)?.to_device(&device)?
    "#,
    // Programs for PyTorch use one device.
    torch: "",
    reference: LINEAR.reference,
    ulps: LINEAR.ulps,
    differentiable: LINEAR.differentiable,
    promise: THERE_PROMISE,
};

/// The layer of a case on a device.
fn layer(call: &Call, device: &Device) -> Result<candle_nn::Linear> {
    let bias = call.optional("bias").map(|bias| bias.to_device(device)).transpose()?;
    Ok(candle_nn::Linear::new(call.tensor("weight")?.to_device(device)?, bias))
}

/// A case of more than one row, and the device to send to.
fn generate_there(draw: &mut Draw) -> arbitrary::Result<Case> {
    let case = draw_contiguous(draw, &LINEAR, |case| shape_of(case).len() > 1)?;
    sent(draw, Case { params: BTreeMap::new(), ..case }, OBJECTS)
}
