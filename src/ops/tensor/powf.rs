//! `x^e` with a number `e`.

use crate::case::ParamSpec;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::elementwise::{FLOATS, case, of_floats, takes_number};
use crate::ops::support::reference_inputs::each;
use crate::ops::{Contract, Op};
use crate::tensor::DType;

/// `x.powf(e)`.
pub static POWF: Op = Op {
    name: "tensor.powf",
    covers: &["Tensor::powf"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[ParamSpec::float("e", 1.0, "The exponent.")],
    generate: &|draw| {
        let exponent = *draw.choose(&[2.0, 3.0, 0.5, -1.0, 1.5, 1.0, 0.0, -0.5, 0.1])?;
        Ok(case(draw, FLOATS)?.param("e", exponent))
    },
    contract: &|case| {
        let exponent = case.float("e");
        let has_infinity = case.tensor("x").is_none_or(|x| x.dtype != DType::F8e4m3);
        let is_judged = if exponent.is_finite() {
            takes_number(case, "x", exponent)
        } else {
            has_infinity && case.backward.is_none()
        };
        match of_floats(case) {
            Contract::Accepts { .. } if !is_judged => {
                Contract::Unspecified("an exponent that the dtype cannot hold, or the derivative for an infinite one")
            }
            contract => contract,
        }
    },
    call: &|call| Ok(vec![call.tensor("x")?.powf(call.case.float("e"))?]),
    source: "x.powf({{ e }})?",
    torch: "x.pow({{ e }})",
    reference: Some(&|inputs| each(inputs, "x", |x| x.powf(inputs.case.float("e")))),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:807-816, backprop.rs:652-656; torch.pow, whose derivative for the exponent 0 \
        is 0; infinite exponents as in IEEE 754",
};
