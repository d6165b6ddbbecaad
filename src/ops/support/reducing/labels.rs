//! Losses of class scores `inp` and class labels `target`.

use ndarray::{ArrayD, Axis};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::{Contract, ReferenceInputs, in_range, rule, why};
use crate::tensor::{DType, Support};

/// The dtypes of `inp`.
pub const SUPPORT: &Support = &Support { of: "inp", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

/// Where the contract of these losses comes from.
pub const PROMISE: &str = "candle-nn/src/loss.rs:5-46 (inp: N, C; target: N labels; mean over the batch); torch.nn.functional.nll_loss \
     and cross_entropy, which reject a label outside 0..C on the CPU: it has no class";

/// Draws `inp (N, C)` and its `target (N)`.
pub fn generate(draw: &mut Draw) -> arbitrary::Result<Case> {
    let (dtype, target_dtype) = (draw.dtype(SUPPORT)?, draw.id_dtype()?);
    let (batch, classes) = match draw.between(0, 47)? {
        46 => (0, draw.reduced()?),
        47 => (0, 0),
        _ => (draw.reduced()?, draw.reduced()?),
    };
    let target = draw.ids(target_dtype, &[batch], classes)?;
    let mut case = Case::default().input("inp", draw.tensor(dtype, &[batch, classes])?).input("target", target);
    case.backward = draw.backward()?;
    Ok(case)
}

/// Accepts `inp (N, C)` with one label in `0..C` for each row.
pub fn contract(case: &Case) -> Contract {
    let (Some(inp), Some(target)) = (case.tensor("inp"), case.tensor("target")) else {
        return Contract::Rejects(&rule::SHAPES);
    };
    if !inp.dtype.is_float() {
        return Contract::Rejects(&rule::LOSS);
    }
    if inp.shape.len() != 2 || target.shape.len() != 1 {
        return Contract::Rejects(&rule::RANK);
    }
    if inp.shape[0] != target.shape[0] {
        return Contract::Rejects(&rule::SHAPES);
    }
    if target.dtype.is_float() {
        return Contract::Rejects(&rule::ID_DTYPE);
    }
    if target.ints().iter().any(|&label| !in_range(label, inp.shape[1])) {
        return Contract::Rejects(&rule::LABEL);
    }
    if inp.shape[0] == 0 && inp.dtype == DType::F8e4m3 {
        return Contract::Unspecified("the mean of an empty tensor");
    }
    Contract::accepts(inp.dtype, &[]).may_refuse(!DType::IDS.contains(&target.dtype), why::DTYPE)
}

/// The mean of `loss` over all rows, each with its label.
pub fn mean_by_label(inputs: &ReferenceInputs, loss: impl Fn(&[Num], usize) -> Num) -> Num {
    let (inp, target): (ArrayD<Num>, ArrayD<i64>) = (inputs.array("inp"), inputs.ids("target"));
    let rows = inp.axis_iter(Axis(0)).zip(&target);
    let losses: Vec<Num> =
        rows.map(|(row, &label)| loss(&row.iter().copied().collect::<Vec<_>>(), label as usize)).collect();
    Num::mean(&losses)
}
