//! `nll` of rows in reverse order.

use candle_nn::loss;

use crate::case::InputSpec;
use crate::ops::Op;
use crate::ops::loss::nll::NLL;
use crate::ops::support::arguments::LABELS;
use crate::ops::support::relation::{accepted, contiguous_contract, draw_contiguous, flip_rows};

/// `nll` of the rows in reverse order: a mean has no order.
pub static NLL_FLIPPED: Op = Op {
    name: "relation.nll_flipped",
    covers: &["loss::nll", "Tensor::flip"],
    support: NLL.support,
    inputs: &[InputSpec::new("inp", "(N, C): the log-probability of each class"), LABELS],
    params: &[],
    generate: &|draw| draw_contiguous(draw, &NLL, |_| true),
    contract: &|case| contiguous_contract(case, &NLL),
    call: &|call| {
        let call = accepted(call, &contiguous_contract(call.case, &NLL))?;
        Ok(vec![loss::nll(&flip_rows(call.tensor("inp")?)?, &flip_rows(call.tensor("target")?)?)?])
    },
    source: "candle_nn::loss::nll(&inp.contiguous()?.flip(&[0])?, &target.contiguous()?.flip(&[0])?)?",
    // A relation between calls of candle.
    torch: "",
    reference: NLL.reference,
    ulps: 4.0,
    // The entries of the ops themselves judge gradients.
    differentiable: &[],
    promise: "candle-nn/src/loss.rs:5-46, torch.nn.functional.nll_loss: the mean over the batch",
};
