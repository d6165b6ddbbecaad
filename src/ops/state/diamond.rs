//! A gradient that arrives on two paths.

use crate::ops::Op;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::nonempty_floats::{FLOATS, draw_floats, float_contract};
use crate::ops::support::reference_inputs::each;

/// `x * x + x`: a gradient that arrives on two paths.
pub static DIAMOND: Op = Op {
    name: "state.diamond",
    covers: &["Tensor::backward"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| draw_floats(draw, &["x"]),
    contract: &float_contract,
    call: &|call| {
        let x = call.tensor("x")?;
        Ok(vec![((x * x)? + x)?])
    },
    source: "((&x * &x)? + &x)?",
    // This is about candle's own state.
    torch: "",
    reference: Some(&|inputs| each(inputs, "x", |x| x * x + x)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "torch.autograd: the gradients of several uses add up",
};
