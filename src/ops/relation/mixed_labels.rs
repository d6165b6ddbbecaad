//! `cross_entropy` of tensors on two devices.

use candle_nn::loss;

use crate::case::{Backward, InputSpec};
use crate::ops::Op;
use crate::ops::loss::cross_entropy::CROSS_ENTROPY;
use crate::ops::support::arguments::{LABELS, OTHER_PLACE};
use crate::ops::support::other_device::{PLACES, refused, sent, there};
use crate::ops::support::relation::{accepted, contiguous_contract, draw_contiguous};

/// `cross_entropy` with the labels on the other device, which must be an `Err`; then with both on the same device.
pub static MIXED_LABELS: Op = Op {
    name: "relation.mixed_labels",
    covers: &["Tensor::to_device", "loss::cross_entropy"],
    support: CROSS_ENTROPY.support,
    inputs: &[InputSpec::new("inp", "(N, C): the logits of each class"), LABELS],
    params: &[OTHER_PLACE],
    generate: &|draw| {
        let mut case = draw_contiguous(draw, &CROSS_ENTROPY, |_| true)?;
        case.backward = Backward::None;
        sent(draw, case, PLACES)
    },
    contract: &|case| contiguous_contract(case, &CROSS_ENTROPY),
    call: &|call| {
        accepted(call, &contiguous_contract(call.case, &CROSS_ENTROPY))?;
        let (inp, target) = (call.tensor("inp")?, call.tensor("target")?);
        let there = there(call)?;
        refused(call, loss::cross_entropy(inp, &target.to_device(&there)?))?;
        Ok(vec![loss::cross_entropy(inp, target)?])
    },
    source: r"
        {% if cuda %}
        assert!(candle_nn::loss::cross_entropy(&inp, &target.to_device({{ there }})?).is_err());
        {% endif %}
        candle_nn::loss::cross_entropy(&inp, &target)?
    ",
    // Programs for PyTorch use one device.
    torch: "",
    reference: CROSS_ENTROPY.reference,
    ulps: CROSS_ENTROPY.ulps,
    differentiable: &[],
    promise: "candle-core/src/storage.rs:52-70, 647: Error::DeviceMismatchBinaryOp; PyTorch expects all tensors on one device",
};
