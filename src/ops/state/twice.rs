//! A tensor with itself.

use crate::case::ParamSpec;
use crate::ops::Op;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::nonempty_floats::{FLOATS, draw_floats, float_contract};
use crate::ops::support::reference_inputs::each;

/// `x` with itself: `x + x`, `x - x`, `x * x`.
pub static TWICE: Op = Op {
    name: "state.twice",
    covers: &["Tensor::add", "Tensor::sub", "Tensor::mul"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[ParamSpec::word("form", &["mul", "add", "sub"], "The operation of `x` with itself.")],
    generate: &|draw| {
        let form = *draw.choose(&["add", "sub", "mul"])?;
        Ok(draw_floats(draw, &["x"])?.param("form", form))
    },
    contract: &float_contract,
    call: &|call| {
        let x = call.tensor("x")?;
        Ok(vec![match call.case.text("form") {
            "add" => x.add(x)?,
            "sub" => x.sub(x)?,
            _ => x.mul(x)?,
        }])
    },
    source: "x.{{ form if form in ['add', 'sub'] else 'mul' }}(&x)?",
    // This is about candle's own state.
    torch: "",
    reference: Some(&|inputs| {
        let form = inputs.case.text("form");
        each(inputs, "x", |x| match form {
            "add" => x + x,
            "sub" => x + -x,
            _ => x * x,
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "elementwise arithmetic of any two tensors of one shape",
};
