//! `huber`.

use candle_nn::loss;

use crate::case::{InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::support::reducing::elementwise_loss::{SUPPORT, contract, generate, mean_of};
use crate::ops::support::reference_inputs::scalar;
use crate::ops::{Contract, Op};

/// `candle_nn::loss::huber(inp, target, delta)`: quadratic below `delta`, linear above, averaged.
pub static HUBER: Op = Op {
    name: "loss.huber",
    covers: &["loss::huber"],
    support: SUPPORT,
    inputs: &[InputSpec::new("inp", "of any shape: the predictions"), InputSpec::new("target", "shaped as `inp`")],
    params: &[ParamSpec::float("delta", 1.0, "Where the loss becomes linear.")],
    generate: &|draw| {
        let delta = *draw.choose(&[1.0, 0.5, 0.125, 2.0])?;
        Ok(generate(draw, HUBER.support)?.param("delta", delta))
    },
    contract: &|case| {
        let delta = case.float("delta");
        if delta > 0.0 && delta.is_finite() {
            contract(case)
        } else {
            Contract::Unspecified("delta is not a positive number")
        }
    },
    call: &|call| Ok(vec![loss::huber(call.tensor("inp")?, call.tensor("target")?, call.case.float("delta"))?]),
    source: "candle_nn::loss::huber(&inp, &target, {{ delta }})?",
    torch: "F.huber_loss(inp, target, delta={{ delta }})",
    reference: Some(&|inputs| {
        let half = Num::exact(0.5);
        scalar(mean_of(inputs, |inp, target| {
            let difference = inp - target;
            let delta = Num::constant(inputs.case.float("delta"), difference.unit);
            let size = difference.abs();
            if size.value <= delta.value {
                // The square has no kink at 0, but where both branches meet there is no second derivative.
                Num { kink: size.value == delta.value, ..half * difference * difference }
            } else {
                delta * (size - half * delta)
            }
        }))
    }),
    ulps: 4.0,
    differentiable: &["inp", "target"],
    promise: "candle-nn/src/loss.rs:77-112 (the formula in its documentation); torch.nn.functional.huber_loss",
};
