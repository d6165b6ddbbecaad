//! `nll`.

use candle_nn::loss;

use crate::case::InputSpec;
use crate::ops::support::arguments::LABELS;
use crate::ops::support::reducing::labels::{PROMISE, SUPPORT, contract, generate, mean_by_label};
use crate::ops::support::reference_inputs::scalar;
use crate::ops::{Op, why};

/// `candle_nn::loss::nll(inp (N, C), target (N))`, the mean of `-inp[i, target[i]]`.
pub static NLL: Op = Op {
    name: "loss.nll",
    covers: &["loss::nll"],
    support: SUPPORT,
    inputs: &[InputSpec::new("inp", "(N, C): the log-probability of each class"), LABELS],
    params: &[],
    generate: &generate,
    contract: &|case| {
        // nll calls gather, which takes contiguous inputs.
        contract(case).may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
    },
    call: &|call| Ok(vec![loss::nll(call.tensor("inp")?, call.tensor("target")?)?]),
    source: "candle_nn::loss::nll(&inp, &target)?",
    torch: r#"F.nll_loss(inp, {{ ids("target") }})"#,
    reference: Some(&|inputs| scalar(mean_by_label(inputs, |row, label| -row[label]))),
    ulps: 4.0,
    differentiable: &["inp"],
    promise: PROMISE,
};
