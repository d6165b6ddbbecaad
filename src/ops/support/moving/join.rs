//! What `cat` and `stack` share: operands named `t0`, `t1` and so on.

use candle_core::Tensor as Candle;
use ndarray::{ArrayD, Axis};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::{Call, Contract, ReferenceInputs, why};
use crate::tensor::{DType, Support, Tensor};

/// The dtypes of joined operands.
pub const OPERAND_SUPPORT: &Support = &Support { of: "t0", cpu: &DType::ALL, cuda: &DType::STANDARD };

/// The names of the operands.
pub const OPERANDS: [&str; 4] = ["t0", "t1", "t2", "t3"];

/// A case of 1 to 4 operands, each of the next `shape`, to be joined along `dim`.
pub fn draw_operands(
    draw: &mut Draw,
    dim: usize,
    mut shape: impl FnMut(&mut Draw) -> arbitrary::Result<Vec<usize>>,
) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(OPERAND_SUPPORT)?;
    let mut case = Case::default().param("dim", dim);
    let count = *draw.choose(&[2, 2, 3, 4, 1])?;
    for name in &OPERANDS[..count] {
        let shape = shape(draw)?;
        case = case.input(name, draw.tensor(dtype, &shape)?);
    }
    case.backward = draw.backward()?;
    Ok(case)
}

/// The operands that a case has.
pub fn tensors(case: &Case) -> Vec<&Tensor> {
    OPERANDS.iter().filter_map(|name| case.tensor(name)).collect()
}

/// The operands that a call has.
pub fn operands(call: &Call) -> Vec<Candle> {
    OPERANDS.iter().filter_map(|name| call.optional(name).cloned()).collect()
}

/// The first operand, if all the others have its dtype and a shape that `fits` its.
pub fn joinable<'a>(tensors: &[&'a Tensor], fits: impl Fn(&[usize], &[usize]) -> bool) -> Result<&'a Tensor, Contract> {
    let Some(&first) = tensors.first() else { return Err(Contract::Rejects("no tensors")) };
    if tensors.iter().any(|tensor| !fits(&first.shape, &tensor.shape)) {
        return Err(Contract::Rejects(why::SHAPES));
    }
    if tensors.iter().any(|tensor| tensor.dtype != first.dtype) {
        return Err(Contract::Rejects(why::MIXED));
    }
    Ok(first)
}

/// The operands, each of them `prepare`d, one after the other along `dim`.
pub fn concatenated(inputs: &ReferenceInputs, prepare: impl Fn(ArrayD<Num>) -> ArrayD<Num>) -> Vec<ArrayD<Num>> {
    let arrays: Vec<_> = OPERANDS.iter().filter_map(|name| inputs.optional(name)).map(prepare).collect();
    let views: Vec<_> = arrays.iter().map(|array| array.view()).collect();
    vec![ndarray::concatenate(Axis(inputs.case.size("dim")), &views).expect("shapes that the contract has checked")]
}
