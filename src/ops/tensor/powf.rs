//! `x^e` with a number `e`.

use crate::case::ParamSpec;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::elementwise::{FLOATS, case, of_floats, takes_number};
use crate::ops::support::reference_inputs::each;
use crate::ops::{Contract, Op};

/// `x.powf(e)`.
pub static POWF: Op = Op {
    name: "tensor.powf",
    covers: &["Tensor::powf"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[ParamSpec::float("e", 1.0, "The exponent.")],
    generate: |draw| {
        let exponent = *draw.choose(&[2.0, 3.0, 0.5, -1.0, 1.5, 1.0, 0.0, -0.5, 0.1])?;
        Ok(case(draw, FLOATS)?.param("e", exponent))
    },
    contract: |case| {
        let exponent = case.float("e");
        if exponent.is_finite() && takes_number(case, "x", exponent) {
            of_floats(case)
        } else {
            Contract::Unspecified("an exponent that is not finite or out of range")
        }
    },
    call: |call| Ok(vec![call.tensor("x")?.powf(call.case.float("e"))?]),
    source: "x.powf({{ e }})?",
    torch: "x.pow({{ e }})",
    reference: Some(|inputs| each(inputs, "x", |x| x.powf(inputs.case.float("e")))),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:807-816, backprop.rs:652-656; torch.pow, whose derivative for the exponent 0 \
        is 0",
};
