//! `softmax` of shifted rows, and of rows in reverse order.

use candle_nn::ops;

use crate::ops::Op;
use crate::ops::op::softmax::SOFTMAX_LAST_DIM;
use crate::ops::support::arguments::{ANY, FUSED, SHIFT};
use crate::ops::support::dtypes::FLOATS;
use crate::ops::support::reducing::softmax::{along, softmax};
use crate::ops::support::relation::{
    NO_SHIFT, accepted, contiguous_contract, draw_contiguous, draw_shifted, flip_rows, shift, shift_fits, shifted,
    shifted_reference,
};

/// `softmax` of the rows in reverse order, turned back.
pub static SOFTMAX_FLIPPED: Op = Op {
    name: "relation.softmax_flipped",
    covers: &["ops::softmax_last_dim", "Tensor::flip"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| draw_contiguous(draw, &SOFTMAX_LAST_DIM, |_| true),
    contract: &|case| contiguous_contract(case, &SOFTMAX_LAST_DIM),
    call: &|call| Ok(vec![flip_rows(&ops::softmax_last_dim(&flip_rows(call.tensor("x")?)?)?)?]),
    source: "candle_nn::ops::softmax_last_dim(&x.contiguous()?.flip(&[0])?)?.flip(&[0])?",
    // A relation between calls of candle.
    torch: "",
    reference: SOFTMAX_LAST_DIM.reference,
    ulps: 4.0,
    // The entries of the ops themselves judge gradients.
    differentiable: &[],
    promise: "the rows of a softmax are independent",
};

/// `softmax(x + c)` is `softmax(x)`.
pub static SOFTMAX_SHIFTED: Op = Op {
    name: "relation.softmax_shifted",
    covers: &["ops::softmax_last_dim", "ops::softmax"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[FUSED, SHIFT],
    generate: &|draw| draw_shifted(draw, &SOFTMAX_LAST_DIM),
    contract: &|case| if shift_fits(case, "x") { contiguous_contract(case, &SOFTMAX_LAST_DIM) } else { NO_SHIFT },
    call: &|call| {
        let call = accepted(call, &SOFTMAX_SHIFTED.contract(call.case))?;
        let x = (call.tensor("x")? + shift(call.case))?;
        let last = x.rank().saturating_sub(1);
        Ok(vec![if call.case.text("form") == "fused" { ops::softmax_last_dim(&x)? } else { ops::softmax(&x, last)? }])
    },
    source: r#"
        let x = (&x + {{ shift }})?;
        {% if form == "fused" %}
        candle_nn::ops::softmax_last_dim(&x)?
        {% else %}
        candle_nn::ops::softmax(&x, {{ inputs.x.shape|length - 1 }})?
        {% endif %}
    "#,
    // A relation between calls of candle.
    torch: "",
    reference: Some(&|inputs| {
        if inputs.case.text("form") == "fused" {
            shifted_reference(inputs, &SOFTMAX_LAST_DIM)
        } else {
            along(&shifted(inputs, "x"), None, softmax)
        }
    }),
    ulps: 4.0,
    // The entries of the ops themselves judge gradients.
    differentiable: &[],
    promise: "softmax is invariant under a shift; candle-nn/src/ops.rs:7-30 subtracts the maximum for that",
};
