//! Losses over class labels: `nll` and `cross_entropy`.

use candle_nn::loss;
use ndarray::{ArrayD, Axis};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::reference_inputs::scalar;
use crate::ops::{Contract, Op, ReferenceInputs, in_range, why};
use crate::tensor::{DType, Support};

/// `candle_nn::loss::nll(inp (N, C), target (N))`, the mean of `-inp[i, target[i]]`.
pub static NLL: Op = Op {
    name: "loss.nll",
    covers: &["loss::nll"],
    support: LABELS_SUPPORT,
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
    promise: LABELS_PROMISE,
};

/// `candle_nn::loss::cross_entropy(inp (N, C), target (N))`, `nll` of `log_softmax` over the classes.
pub static CROSS_ENTROPY: Op = Op {
    name: "loss.cross_entropy",
    covers: &["loss::cross_entropy"],
    support: LABELS_SUPPORT,
    generate,
    contract: |case| {
        let strided_target = case.tensor("target").is_some_and(|target| !target.view.is_contiguous());
        contract(case).may_refuse(strided_target, why::CONTIGUOUS)
    },
    call: |call| Ok(vec![loss::cross_entropy(call.tensor("inp")?, call.tensor("target")?)?]),
    source: "candle_nn::loss::cross_entropy(&inp, &target)?",
    torch: r#"F.cross_entropy(inp, {{ ids("target") }})"#,
    reference: Some(|inputs| scalar(picked_mean(inputs, |row, label| Num::log_sum_exp(row) - row[label]))),
    ulps: 4.0,
    differentiable: &["inp"],
    promise: LABELS_PROMISE,
};

/// The dtypes of these ops.
pub const LABELS_SUPPORT: &Support = &Support { of: "inp", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };
/// Where the contract of these ops comes from.
pub const LABELS_PROMISE: &str = "candle-nn/src/loss.rs:5-46 (inp: N, C; target: N labels; mean over the batch); a label outside 0..C has no \
              class, and torch.nn.functional.cross_entropy refuses it";

fn generate(draw: &mut Draw) -> arbitrary::Result<Case> {
    let (dtype, target_dtype) = (draw.dtype(LABELS_SUPPORT)?, draw.id_dtype()?);
    let (batch, classes) = (draw.reduced()?, draw.reduced()?);
    let target = draw.ids(target_dtype, &[batch], classes)?;
    let mut case = Case::default().input("inp", draw.tensor(dtype, &[batch, classes])?).input("target", target);
    case.backward = draw.backward()?;
    Ok(case)
}

fn contract(case: &Case) -> Contract {
    let (Some(inp), Some(target)) = (case.tensor("inp"), case.tensor("target")) else {
        return Contract::Rejects(why::SHAPES);
    };
    if !inp.dtype.is_float() {
        return Contract::Unspecified("the loss of integers");
    }
    if inp.shape.contains(&0) {
        return Contract::Unspecified("the mean of an empty batch");
    }
    if inp.shape.len() != 2 || target.shape.len() != 1 {
        return Contract::Rejects(why::RANK);
    }
    if inp.shape[0] != target.shape[0] {
        return Contract::Rejects(why::SHAPES);
    }
    if target.dtype.is_float() {
        return Contract::Rejects(why::ID_DTYPE);
    }
    if target.ints().iter().any(|&label| !in_range(label, inp.shape[1])) {
        return Contract::Rejects("label out of range");
    }
    Contract::accepts(inp.dtype, &[]).may_refuse(!DType::IDS.contains(&target.dtype), why::DTYPE)
}

fn picked_mean(inputs: &ReferenceInputs, loss: impl Fn(&[Num], usize) -> Num) -> Num {
    let (inp, target): (ArrayD<Num>, ArrayD<i64>) = (inputs.array("inp"), inputs.ids("target"));
    let rows = inp.axis_iter(Axis(0)).zip(&target);
    let losses: Vec<Num> =
        rows.map(|(row, &label)| loss(&row.iter().copied().collect::<Vec<_>>(), label as usize)).collect();
    Num::mean(&losses)
}
