//! What ops that write one tensor into a block of another share.

use ndarray::{ArrayD, Dimension};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::moving::gather_map::COPIES;
use crate::ops::{Contract, ReferenceInputs, why};
use crate::tensor::{DType, Tensor};

/// A case that writes `src` into `x` along one dimension, which is the first one if `first`.
pub fn draw_slice(draw: &mut Draw, first: bool) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(COPIES)?;
    let x = draw.open_shape(1, 4)?;
    let dim = if first { 0 } else { draw.between(0, x.len() - 1)? };
    let mut src = x.clone();
    src[dim] = draw.between(x[dim].min(1), x[dim])?;
    let start = draw.between(0, x[dim] - src[dim])?;
    let case = draw_pair(draw, dtype, &x, &src)?.param("start", start);
    Ok(if first { case } else { case.param("dim", dim) })
}

/// A case of `x` and `src` of these shapes.
pub fn draw_pair(draw: &mut Draw, dtype: DType, x: &[usize], src: &[usize]) -> arbitrary::Result<Case> {
    let mut case = Case::default().input("x", draw.packed(dtype, x)?).input("src", draw.packed(dtype, src)?);
    case.backward = draw.backward()?;
    Ok(case)
}

/// `x` and `src`, if they have the same dtype and number of dimensions.
pub fn operands(case: &Case) -> Result<(&Tensor, &Tensor), Contract> {
    let (Some(x), Some(src)) = (case.tensor("x"), case.tensor("src")) else {
        return Err(Contract::Rejects(why::SHAPES));
    };
    if x.shape.len() != src.shape.len() {
        return Err(Contract::Rejects(why::RANK));
    }
    if x.dtype == src.dtype { Ok((x, src)) } else { Err(Contract::Rejects(why::MIXED)) }
}

/// Accepts a `src` that fits into `x` from `start` on along `dim`.
pub fn slice_contract(case: &Case, dim: usize) -> Contract {
    let (x, src) = match operands(case) {
        Ok(operands) => operands,
        Err(contract) => return contract,
    };
    if dim >= x.shape.len() {
        return Contract::Rejects(why::DIM);
    }
    if (0..x.shape.len()).any(|d| d != dim && x.shape[d] != src.shape[d]) {
        return Contract::Rejects(why::SHAPES);
    }
    match case.size("start").checked_add(src.shape[dim]) {
        Some(end) if end <= x.shape[dim] => Contract::accepts(x.dtype, &x.shape),
        _ => Contract::Rejects("the part ends outside the tensor"),
    }
}

/// `x` with `src` in it from `start` on along `dim`.
pub fn with_slice(inputs: &ReferenceInputs, dim: usize) -> Vec<ArrayD<Num>> {
    let mut starts = vec![0; inputs.array("x").ndim()];
    starts[dim] = inputs.case.size("start");
    with_block(inputs, &starts)
}

/// `x` with `src` in it from these positions on.
pub fn with_block(inputs: &ReferenceInputs, starts: &[usize]) -> Vec<ArrayD<Num>> {
    let mut x = inputs.array("x");
    for (index, &value) in inputs.array("src").indexed_iter() {
        let place: Vec<usize> = index.slice().iter().zip(starts).map(|(i, start)| i + start).collect();
        x[place.as_slice()] = value;
    }
    vec![x]
}
