//! The exponential linear unit.

use crate::case::ParamSpec;
use crate::ops::Op;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::activation::unspecified_constant;
use crate::ops::support::elements::elementwise::{FLOATS, case, elu, of_floats};
use crate::ops::support::reference_inputs::each;

/// `x.elu(alpha)`: `x` above 0, else `alpha (e^x - 1)`.
pub static ELU: Op = Op {
    name: "tensor.elu",
    covers: &["Tensor::elu"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[ParamSpec::float("alpha", 1.0, "The factor of the exponential.")],
    generate: &|draw| {
        let alpha = *draw.choose(&[1.0, 0.5, 2.0, -1.0, 0.0])?;
        Ok(case(draw, FLOATS)?.param("alpha", alpha))
    },
    contract: &|case| unspecified_constant(case, "alpha").unwrap_or_else(|| of_floats(case)),
    call: &|call| Ok(vec![call.tensor("x")?.elu(call.case.float("alpha"))?]),
    source: "x.elu({{ alpha }})?",
    torch: "F.elu(x, {{ alpha }})",
    reference: Some(&|inputs| each(inputs, "x", |x| elu(x, inputs.case.float("alpha")))),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:797-806; torch.nn.ELU",
};
