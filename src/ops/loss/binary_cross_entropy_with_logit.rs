//! `binary_cross_entropy_with_logit`.

use candle_nn::loss;

use crate::case::InputSpec;
use crate::number::Num;
use crate::ops::Op;
use crate::ops::support::reducing::elementwise_loss::{contract, generate, mean_of};
use crate::ops::support::reference_inputs::scalar;
use crate::tensor::{DType, Support, Tensor};

/// `candle_nn::loss::binary_cross_entropy_with_logit(inp, target)`, the mean of
/// `-(target ln sigmoid(inp) + (1 - target) ln(1 - sigmoid(inp)))`.
pub static BINARY_CROSS_ENTROPY_WITH_LOGIT: Op = Op {
    name: "loss.binary_cross_entropy_with_logit",
    covers: &["loss::binary_cross_entropy_with_logit"],
    support: &Support::both("inp", &DType::FLOATS),
    inputs: &[
        InputSpec::new("inp", "of any shape: the logits"),
        InputSpec::new("target", "shaped as `inp`: probabilities, or labels 0 and 1"),
    ],
    params: &[],
    generate: &|draw| generate(draw, BINARY_CROSS_ENTROPY_WITH_LOGIT.support),
    contract: &|case| {
        // candle documents labels of u32; PyTorch rejects them.
        let label = case.tensor("target").filter(|target| target.dtype == DType::U32);
        let as_float =
            |inp: &Tensor, target: &Tensor| case.clone().input("target", Tensor { dtype: inp.dtype, ..target.clone() });
        match (case.tensor("inp"), label) {
            (Some(inp), Some(target)) => contract(&as_float(inp, target)),
            _ => contract(case),
        }
    },
    call: &|call| Ok(vec![loss::binary_cross_entropy_with_logit(call.tensor("inp")?, call.tensor("target")?)?]),
    source: "candle_nn::loss::binary_cross_entropy_with_logit(&inp, &target)?",
    torch: "F.binary_cross_entropy_with_logits(inp, target)",
    reference: Some(&|inputs| scalar(mean_of(inputs, binary_cross_entropy))),
    ulps: 4.0,
    differentiable: &["inp", "target"],
    promise: "candle-nn/src/loss.rs:53-75 (\"the ground truth labels as a tensor of u32\"); torch.nn.BCEWithLogitsLoss: the logit form exists to be stable for every \
              finite logit",
};

/// One element of binary cross-entropy: the value of the stable form, with the error bounds of the documented one.
fn binary_cross_entropy(logit: Num, target: Num) -> Num {
    let one = Num::exact(1.0);
    let zero = Num::exact(0.0);
    let sigmoid = one / (one + (-logit).exp());
    let documented = -(target * sigmoid.ln() + (one - target) * (one - sigmoid).ln());
    let softplus = |x: Num| Num::log_sum_exp(&[zero, x]);
    // The documented form has a pole where the sigmoid rounds to 0 or 1. The loss itself has none.
    Num { kink: false, ..documented }.valued(softplus(logit) - target * logit)
}
