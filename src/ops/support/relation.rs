//! Relations between calls: the output for a changed input must follow from the output for the original one.
//!
//! Such an op calls another op on the changed input and changes the output back; its reference is the other op's.

use candle_core::{Result, Tensor as Candle};
use ndarray::ArrayD;

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::moving::gather_map::shape_of;
use crate::ops::{Call, Contract, Op, ReferenceInputs};

/// The contract of `op` for contiguous cases with elements. All other cases, and those that `op` rejects, are left to
/// the entry of `op` itself.
pub fn contiguous_contract(case: &Case, op: &Op) -> Contract {
    let empty = case.inputs.values().any(|tensor| tensor.shape.contains(&0));
    match op.contract(case) {
        _ if empty || !case.is_contiguous() => Contract::Unspecified("views, or inputs without elements"),
        Contract::Rejects(rule) => Contract::Unspecified(rule.id),
        contract => contract,
    }
}

/// Draws a contiguous case that `op` accepts and that `fits`. After 8 misses the case may be another.
pub fn draw_contiguous(draw: &mut Draw, op: &Op, fits: fn(&Case) -> bool) -> arbitrary::Result<Case> {
    let mut case = (op.generate)(draw)?.contiguous();
    for _ in 0..8 {
        if fits(&case) && matches!(contiguous_contract(&case, op), Contract::Accepts { .. }) {
            break;
        }
        case = (op.generate)(draw)?.contiguous();
    }
    Ok(case)
}

/// An `Err` unless `contract` accepts: a relation is between calls that succeed.
pub fn accepted<'a, 'b>(call: &'a Call<'b>, contract: &Contract) -> Result<&'a Call<'b>> {
    match contract {
        Contract::Accepts { .. } => Ok(call),
        _ => candle_core::bail!("the contract does not accept this call"),
    }
}

/// [`contiguous_contract`] of an `x` that has two halves.
pub fn halves_contract(case: &Case, op: &Op) -> Contract {
    match shape_of(case).as_slice() {
        [] | [_] => Contract::Unspecified("no batch"),
        [0, ..] => Contract::Unspecified("an empty batch to halve"),
        _ => contiguous_contract(case, op),
    }
}

/// `op` of each half of the batch `x`, joined.
pub fn call_halves(call: &Call, op: &Op) -> Result<Vec<Candle>> {
    let call = accepted(call, &halves_contract(call.case, op))?;
    let mut outputs = Vec::new();
    for half in call.tensor("x")?.chunk(2, 0)? {
        let mut tensors = call.tensors.clone();
        tensors.insert("x", half);
        outputs.extend(op.call(call.case, tensors, call.devices)?);
    }
    Ok(vec![Candle::cat(&outputs, 0)?])
}

/// `x` with its rows in reverse order.
pub fn flip_rows(x: &Candle) -> Result<Candle> {
    x.contiguous()?.flip(&[0])
}

/// The contract without a shift, or with one that overflows.
pub const NO_SHIFT: Contract = Contract::Unspecified("not an ordinary shift");

/// The shift, or 0 if it is not an ordinary one.
pub fn shift(case: &Case) -> f64 {
    let shift = case.float("shift");
    if shift.abs() <= 1024.0 { shift } else { 0.0 }
}

/// Whether there is a shift under which no finite value of the input `name` overflows.
pub fn shift_fits(case: &Case, name: &str) -> bool {
    let shift = shift(case);
    let Some(tensor) = case.tensor(name) else { return shift != 0.0 };
    let stays = |value: f64| !value.is_finite() || tensor.dtype.round(value + shift).is_finite();
    shift != 0.0 && tensor.values.listed().iter().all(|value| stays(value.as_f64()))
}

/// Draws a case of `op` and a shift.
pub fn draw_shifted(draw: &mut Draw, op: &Op) -> arbitrary::Result<Case> {
    let case = draw_contiguous(draw, op, |_| true)?;
    let form = *draw.choose(&["fused", "composed"])?;
    Ok(case.param("shift", *draw.choose(&[1.0, -8.0, 64.0, 0.5])?).param("form", form))
}

/// The reference of `op` for its main input, with the rounding of the shift there and back.
pub fn shifted_reference(inputs: &ReferenceInputs, op: &Op) -> Vec<ArrayD<Num>> {
    op.reference().map_or_else(Vec::new, |reference| reference(&shifted(inputs, op.support.of)))
}

/// `inputs`, of which `name` was shifted and shifted back.
pub fn shifted<'a>(inputs: &ReferenceInputs<'a>, name: &'static str) -> ReferenceInputs<'a> {
    let shift = Num::exact(shift(inputs.case));
    let x = inputs.array(name).mapv(|x| (x + shift) - shift);
    ReferenceInputs { flowing: Some((name, x)), ..inputs.clone() }
}
