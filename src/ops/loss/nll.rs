//! `nll`.

use candle_nn::loss;

use crate::ops::support::labels::{PROMISE, SUPPORT, contract, generate, picked_mean};
use crate::ops::support::reference_inputs::scalar;
use crate::ops::{Op, why};

/// `candle_nn::loss::nll(inp (N, C), target (N))`, the mean of `-inp[i, target[i]]`.
pub static NLL: Op = Op {
    name: "loss.nll",
    covers: &["loss::nll"],
    support: SUPPORT,
    generate,
    contract: |case| {
        // gather, which nll is made of, asks for contiguous inputs.
        contract(case).may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
    },
    call: |call| Ok(vec![loss::nll(call.tensor("inp")?, call.tensor("target")?)?]),
    source: "candle_nn::loss::nll(&inp, &target)?",
    torch: r#"F.nll_loss(inp, {{ ids("target") }})"#,
    reference: Some(|inputs| scalar(picked_mean(inputs, |row, label| -row[label]))),
    ulps: 4.0,
    differentiable: &["inp"],
    promise: PROMISE,
};
