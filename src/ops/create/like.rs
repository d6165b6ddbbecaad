//! Zeros and ones of the shape of another tensor.

use crate::case::ParamSpec;
use crate::number::Num;
use crate::ops::Op;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::elementwise::{case_in_form, elementwise};
use crate::ops::support::reference_inputs::each;
use crate::tensor::{DType, Support};

/// `zeros_like`, `ones_like` of `x`, by the param `form`.
pub static LIKE: Op = Op {
    name: "create.like",
    covers: &["Tensor::zeros_like", "Tensor::ones_like"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD_AND_F8 },
    inputs: &[ANY],
    params: &[ParamSpec::word("form", &["zeros", "ones"], "Every element.")],
    generate: &|draw| case_in_form(draw, KERNELS, &["zeros", "ones"]),
    contract: &elementwise,
    call: &|call| {
        let x = call.tensor("x")?;
        Ok(vec![if call.case.text("form") == "ones" { x.ones_like()? } else { x.zeros_like()? }])
    },
    source: "x.{{ 'ones' if form == 'ones' else 'zeros' }}_like()?",
    torch: "torch.{{ 'ones' if form == 'ones' else 'zeros' }}_like(x)",
    reference: Some(&|inputs| {
        let value = if inputs.case.text("form") == "ones" { 1.0 } else { 0.0 };
        each(inputs, "x", |_| Num::exact(value))
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:221-273 (the documentation of each); torch.zeros_like and torch.ones_like",
};

/// The dtypes of kernels that fill and copy views.
const KERNELS: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD };
