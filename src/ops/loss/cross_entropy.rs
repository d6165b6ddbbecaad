//! `cross_entropy`.

use candle_nn::loss;

use crate::case::InputSpec;
use crate::ops::support::arguments::LABELS;
use crate::ops::support::reducing::labels::{PROMISE, SUPPORT, contract, generate, mean_by_label};
use crate::ops::support::reducing::softmax::log_softmax;
use crate::ops::support::reference_inputs::scalar;
use crate::ops::{Op, why};

/// `candle_nn::loss::cross_entropy(inp (N, C), target (N))`, `nll` of `log_softmax` over the classes.
pub static CROSS_ENTROPY: Op = Op {
    name: "loss.cross_entropy",
    covers: &["loss::cross_entropy"],
    support: SUPPORT,
    inputs: &[InputSpec::new("inp", "(N, C): the logits of each class"), LABELS],
    params: &[],
    generate: &generate,
    contract: &|case| {
        let strided_target = case.tensor("target").is_some_and(|target| !target.view.is_contiguous());
        contract(case).may_refuse(strided_target, why::CONTIGUOUS)
    },
    call: &|call| Ok(vec![loss::cross_entropy(call.tensor("inp")?, call.tensor("target")?)?]),
    source: "candle_nn::loss::cross_entropy(&inp, &target)?",
    torch: r#"F.cross_entropy(inp, {{ ids("target") }})"#,
    reference: Some(&|inputs| scalar(mean_by_label(inputs, |row, label| -log_softmax(row)[label]))),
    ulps: 4.0,
    differentiable: &["inp"],
    promise: PROMISE,
};
