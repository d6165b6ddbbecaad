//! Copies between host and device.

use crate::ops::Op;
use crate::ops::support::arguments::{ANY, ELSEWHERE};
use crate::ops::support::elements::elementwise::{case, elementwise};
use crate::ops::support::other_device::{OBJECTS, sent, there};
use crate::ops::support::reference_inputs::each;
use crate::tensor::{DType, Support};

/// `x` to the other device and back.
pub static TO_DEVICE: Op = Op {
    name: "tensor.to_device",
    covers: &["Tensor::to_device"],
    support: COPIED,
    inputs: &[ANY],
    params: &[ELSEWHERE],
    generate: &|draw| {
        let case = case(draw, COPIED)?;
        sent(draw, case, OBJECTS)
    },
    contract: &elementwise,
    call: &|call| {
        let there = there(call)?;
        Ok(vec![call.tensor("x")?.to_device(&there)?.to_device(call.device)?])
    },
    source: "x.to_device({{ there }})?.to_device(&device)?",
    // The scripts use one device.
    torch: "",
    reference: Some(&|inputs| each(inputs, "x", |x| x)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2357-2515 (the documentation of each); torch.Tensor.to",
};

/// Memory is copied in every dtype.
const COPIED: &Support = &Support::both("x", &DType::ALL);
