//! Work on two devices: the case's own, and where the param `to` sends: `second`, which is the CUDA device after the case's
//! own, or else the CPU. Where the case runs on the CPU, both are that.

use std::collections::BTreeMap;
use std::sync::Mutex;

use candle_core::{Device, DeviceLocation, Module, Result, Tensor};
use candle_nn::loss;

use crate::case::{Backward, Case};
use crate::generate::Draw;
use crate::ops::layer::linear::LINEAR;
use crate::ops::loss::labels::CROSS_ENTROPY;
use crate::ops::relation::formulas::{drawn, of_halves, plain, promised};
use crate::ops::support::gather_map::shape_of;
use crate::ops::{Call, Op};

/// Whether a case, or a step of one, sends to the second device.
pub fn wants_second(case: &Case) -> bool {
    let to_second = |name: &String| name.rsplit('.').next() == Some("to") && case.text(name) == SECOND;
    case.params.keys().any(to_second)
}

/// The CUDA device after `device`, opened once per process; of CPUs there is one.
pub fn second(device: &Device) -> Result<Device> {
    static OPENED: Mutex<BTreeMap<usize, Device>> = Mutex::new(BTreeMap::new());
    let DeviceLocation::Cuda { gpu_id } = device.location() else { return Ok(device.clone()) };
    let mut opened = OPENED.lock().expect("nothing panics under the lock");
    if let Some(device) = opened.get(&gpu_id) {
        return Ok(device.clone());
    }
    let device = Device::new_cuda(gpu_id + 1)?;
    opened.insert(gpu_id, device.clone());
    Ok(device)
}

const SECOND: &str = "second";

/// The device that a call sends to.
pub fn there(call: &Call) -> Result<Device> {
    if call.case.text("to") == SECOND { second(call.device) } else { Ok(Device::Cpu) }
}

/// The case with the second device to send to, now and then.
pub fn sent(draw: &mut Draw, case: Case) -> arbitrary::Result<Case> {
    Ok(if draw.one_in(8)? { case.param("to", SECOND) } else { case })
}

/// An `Err` unless a call on tensors of two devices was refused; on the CPU, where they are of one, unless it was not.
pub fn refused(call: &Call, mixed: Result<Tensor>) -> Result<()> {
    match mixed {
        Ok(_) if !call.device.is_cpu() => candle_core::bail!("arguments on different devices are accepted"),
        Err(error) if call.device.is_cpu() => Err(error),
        _ => Ok(()),
    }
}

/// `cross_entropy` with the labels on the other device, which must be an `Err`; then with both on the same.
pub static MIXED_LABELS: Op = Op {
    name: "relation.mixed_labels",
    covers: &["Tensor::to_device", "loss::cross_entropy"],
    support: CROSS_ENTROPY.support,
    generate: |draw| {
        let mut case = drawn(draw, &CROSS_ENTROPY, |_| true)?;
        case.backward = Backward::None;
        sent(draw, case)
    },
    contract: |case| plain(case, &CROSS_ENTROPY),
    call: |call| {
        promised(call, &plain(call.case, &CROSS_ENTROPY))?;
        let (inp, target) = (call.tensor("inp")?, call.tensor("target")?);
        refused(call, loss::cross_entropy(inp, &target.to_device(&there(call)?)?))?;
        Ok(vec![loss::cross_entropy(inp, target)?])
    },
    source: r"
        {% if cuda %}
        assert!(candle_nn::loss::cross_entropy(&inp, &target.to_device({{ there }})?).is_err());
        {% endif %}
        candle_nn::loss::cross_entropy(&inp, &target)?
    ",
    torch: "",
    reference: CROSS_ENTROPY.reference,
    ulps: CROSS_ENTROPY.ulps,
    differentiable: &[],
    promise: "candle-core/src/storage.rs:52-70, 647: Error::DeviceMismatchBinaryOp",
};

/// `Linear` with its parameters on the other device: `x` goes there, and the output comes back.
pub static LINEAR_THERE: Op = Op {
    name: "relation.linear_there",
    covers: &["Tensor::to_device", "Linear"],
    support: LINEAR.support,
    generate: linears_generate,
    contract: |case| of_halves(case, &LINEAR),
    call: |call| {
        let there = there(call)?;
        Ok(vec![layer(call, &there)?.forward(&call.tensor("x")?.to_device(&there)?)?.to_device(call.device)?])
    },
    source: r#"
        let there = {{ there }};
        let bias = {{ "Some(bias.to_device(there)?)" if inputs.bias else "None" }};
        let layer = candle_nn::Linear::new(weight.to_device(there)?, bias);
        layer.forward(&x.to_device(there)?)?.to_device(&device)?
    "#,
    torch: "",
    reference: LINEAR.reference,
    ulps: LINEAR.ulps,
    differentiable: LINEAR.differentiable,
    promise: LINEARS_PROMISE,
};

/// `Linear` of the first half of the batch, and on the other device of what is left of it, with copies of the parameters.
pub static LINEAR_APART: Op = Op {
    name: "relation.linear_apart",
    covers: &["Tensor::to_device", "Linear"],
    support: LINEAR.support,
    generate: linears_generate,
    contract: |case| of_halves(case, &LINEAR),
    call: |call| {
        let devices = [call.device.clone(), there(call)?];
        let halves = call.tensor("x")?.chunk(2, 0)?.into_iter().zip(&devices);
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
    torch: "",
    reference: LINEAR.reference,
    ulps: LINEAR.ulps,
    differentiable: LINEAR.differentiable,
    promise: LINEARS_PROMISE,
};

/// The layer of a case on a device.
fn layer(call: &Call, device: &Device) -> Result<candle_nn::Linear> {
    let bias = call.optional("bias").map(|bias| bias.to_device(device)).transpose()?;
    Ok(candle_nn::Linear::new(call.tensor("weight")?.to_device(device)?, bias))
}

/// Where the contract of these ops comes from.
pub const LINEARS_PROMISE: &str =
    "candle-core/src/backprop.rs:707: a copy to another device changes no value, and its gradient comes back";

fn linears_generate(draw: &mut Draw) -> arbitrary::Result<Case> {
    let case = drawn(draw, &LINEAR, |case| shape_of(case).len() > 1)?;
    sent(draw, Case { params: BTreeMap::new(), ..case })
}
