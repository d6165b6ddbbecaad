//! `cross_entropy` of shifted scores, and of rows in reverse order.

use candle_nn::loss;

use crate::case::InputSpec;
use crate::ops::Op;
use crate::ops::loss::cross_entropy::CROSS_ENTROPY;
use crate::ops::loss::nll::NLL;
use crate::ops::support::arguments::{FUSED, LABELS, SHIFT};
use crate::ops::support::relation::{
    NO_SHIFT, accepted, contiguous_contract, draw_contiguous, draw_shifted, flip_rows, shift, shift_fits,
    shifted_reference,
};

/// `cross_entropy` of the rows in reverse order.
pub static CROSS_ENTROPY_FLIPPED: Op = Op {
    name: "relation.cross_entropy_flipped",
    covers: &["loss::cross_entropy", "Tensor::flip"],
    support: CROSS_ENTROPY.support,
    inputs: &[InputSpec::new("inp", "(N, C): the logits of each class"), LABELS],
    params: &[],
    generate: &|draw| draw_contiguous(draw, &NLL, |_| true),
    contract: &|case| contiguous_contract(case, &CROSS_ENTROPY),
    call: &|call| {
        let call = accepted(call, &contiguous_contract(call.case, &CROSS_ENTROPY))?;
        Ok(vec![loss::cross_entropy(&flip_rows(call.tensor("inp")?)?, &flip_rows(call.tensor("target")?)?)?])
    },
    source: "candle_nn::loss::cross_entropy(&inp.contiguous()?.flip(&[0])?, &target.contiguous()?.flip(&[0])?)?",
    // A relation between calls of candle.
    torch: "",
    reference: CROSS_ENTROPY.reference,
    ulps: 4.0,
    // The entries of the ops themselves judge gradients.
    differentiable: &[],
    promise: "candle-nn/src/loss.rs:5-46, torch.nn.functional.cross_entropy: the mean over the batch",
};

/// `cross_entropy(inp + c, target)` is `cross_entropy(inp, target)`.
pub static CROSS_ENTROPY_SHIFTED: Op = Op {
    name: "relation.cross_entropy_shifted",
    covers: &["loss::cross_entropy"],
    support: CROSS_ENTROPY.support,
    inputs: &[InputSpec::new("inp", "(N, C): the logits of each class"), LABELS],
    params: &[FUSED, SHIFT],
    generate: &|draw| draw_shifted(draw, &CROSS_ENTROPY),
    contract: &|case| if shift_fits(case, "inp") { contiguous_contract(case, &CROSS_ENTROPY) } else { NO_SHIFT },
    call: &|call| {
        let call = accepted(call, &CROSS_ENTROPY_SHIFTED.contract(call.case))?;
        Ok(vec![loss::cross_entropy(&(call.tensor("inp")? + shift(call.case))?, call.tensor("target")?)?])
    },
    source: "candle_nn::loss::cross_entropy(&(&inp + {{ shift }})?, &target)?",
    // A relation between calls of candle.
    torch: "",
    reference: Some(&|inputs| shifted_reference(inputs, &CROSS_ENTROPY)),
    ulps: 4.0,
    // The entries of the ops themselves judge gradients.
    differentiable: &[],
    promise: "log_softmax is invariant under a shift",
};
