//! `mse`.

use candle_nn::loss;

use crate::case::InputSpec;
use crate::ops::Op;
use crate::ops::support::reducing::elementwise_loss::{SUPPORT, contract, generate, mean_of};
use crate::ops::support::reference_inputs::scalar;

/// `candle_nn::loss::mse(inp, target)`, the mean of the squared difference.
pub static MSE: Op = Op {
    name: "loss.mse",
    covers: &["loss::mse"],
    support: SUPPORT,
    inputs: &[InputSpec::new("inp", "of any shape: the predictions"), InputSpec::new("target", "shaped as `inp`")],
    params: &[],
    generate: &|draw| generate(draw, SUPPORT),
    contract: &contract,
    call: &|call| Ok(vec![loss::mse(call.tensor("inp")?, call.tensor("target")?)?]),
    source: "candle_nn::loss::mse(&inp, &target)?",
    torch: "F.mse_loss(inp, target)",
    reference: Some(&|inputs| {
        scalar(mean_of(inputs, |inp, target| {
            let difference = inp - target;
            difference * difference
        }))
    }),
    ulps: 4.0,
    differentiable: &["inp", "target"],
    promise: "candle-nn/src/loss.rs:48-51; torch.nn.MSELoss",
};
