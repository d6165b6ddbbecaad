//! The same values without a gradient.

use crate::ops::Op;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::elementwise::{case, elementwise};
use crate::ops::support::reference_inputs::each;
use crate::tensor::{DType, Support};

/// `x.detach()`: the same values, without a gradient.
pub static DETACH: Op = Op {
    name: "tensor.detach",
    covers: &["Tensor::detach"],
    support: COPIED,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| case(draw, COPIED),
    contract: &elementwise,
    call: &|call| Ok(vec![call.tensor("x")?.detach()]),
    source: "x.detach()",
    torch: "x.detach()",
    reference: Some(&|inputs| each(inputs, "x", |x| x)),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:2357-2515 (the documentation of each); torch.Tensor.detach",
};

/// Memory is copied in every dtype.
const COPIED: &Support = &Support::both("x", &DType::ALL);
