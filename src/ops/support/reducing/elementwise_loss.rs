//! Losses of two tensors of one shape, `inp` and `target`.

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::{Contract, ReferenceInputs, rule, why};
use crate::tensor::{DType, Support};

/// The dtypes of `inp`.
pub const SUPPORT: &Support = &Support { of: "inp", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

/// Draws `inp` and `target` of one shape.
pub fn generate(draw: &mut Draw, support: &Support) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let mut shape = draw.open_shape(0, 3)?;
    shape.push(draw.lane()?);
    let mut case =
        Case::default().input("inp", draw.tensor(dtype, &shape)?).input("target", draw.tensor(dtype, &shape)?);
    case.backward = draw.backward()?;
    Ok(case)
}

/// Accepts two float tensors of one shape and dtype.
pub fn contract(case: &Case) -> Contract {
    let (Some(inp), Some(target)) = (case.tensor("inp"), case.tensor("target")) else {
        return Contract::Rejects(&rule::SHAPES);
    };
    if inp.shape != target.shape {
        return Contract::Rejects(&rule::SHAPES);
    }
    if !inp.dtype.is_float() || !target.dtype.is_float() {
        let nothing = Contract::Unspecified(why::MIXED_NOTHING);
        return if inp.elements() == Some(0) { nothing } else { Contract::Rejects(&rule::LOSS) };
    }
    if inp.dtype != target.dtype {
        return Contract::mixed(inp);
    }
    if inp.elements() == Some(0) && inp.dtype == DType::F8e4m3 {
        return Contract::Unspecified("the mean of an empty tensor");
    }
    Contract::accepts(inp.dtype, &[])
}

/// The mean of `loss` over all elements.
pub fn mean_of(inputs: &ReferenceInputs, loss: impl Fn(Num, Num) -> Num) -> Num {
    let (inp, target) = (inputs.array("inp"), inputs.array("target"));
    let losses: Vec<Num> = inp.iter().zip(&target).map(|(&inp, &target)| loss(inp, target)).collect();
    Num::mean(&losses)
}
