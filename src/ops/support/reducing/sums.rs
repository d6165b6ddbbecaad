//! Functions of sums over the dimensions `dims`: cases, contract and reference.

use ndarray::ArrayD;

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::reducing::reductions::{groups, overflows, reduced, reduced_dims, reduced_shape};
use crate::ops::{Contract, ReferenceInputs, rule, why};
use crate::tensor::Support;

/// A case of some dimensions, or of all with `form = "all"`.
pub fn generate(draw: &mut Draw, support: &Support) -> arbitrary::Result<Case> {
    let mut shape = draw.open_shape(0, 3)?;
    shape.insert(draw.between(0, shape.len())?, draw.reduced()?);
    let dtype = draw.dtype(support)?;
    // Small integers: few sums overflow.
    let x = if dtype.is_float() { draw.tensor(dtype, &shape)? } else { draw.ids(dtype, &shape, 4)? };
    let mut case = Case::default().input("x", x).param("form", *draw.choose(&["", "", "keepdim", "all"])?);
    if case.text("form") != "all" {
        let first = draw.between(0, shape.len() - 1)?;
        let count = draw.between(1, shape.len().min(3))?;
        let dims: Vec<usize> = (first..first + count).map(|dim| dim % shape.len()).collect();
        case = case.param("dims", dims);
    }
    case.backward = draw.backward()?;
    Ok(case)
}

/// The contract of a function of sums over dimensions. `is_whole` decides by the sum and the count of integers whether
/// their result is an integer.
pub fn contract(case: &Case, is_whole: impl Fn(i64, i64) -> bool) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
    let dims = reduced_dims(case, x.shape.len());
    if dims.iter().any(|&dim| dim >= x.shape.len()) {
        return Contract::Rejects(&rule::DIM);
    }
    if (1..dims.len()).any(|i| dims[..i].contains(&dims[i])) {
        return Contract::Rejects(&rule::DIM_TWICE);
    }
    if dims.is_empty() && case.text("form") != "all" {
        return Contract::Unspecified("a reduction over no dimension");
    }
    if !x.dtype.is_float() {
        if overflows(x, &dims) {
            return Contract::Unspecified(why::OVERFLOW);
        }
        let fits = |group: &[Num]| is_whole(group.iter().map(|x| x.value as i64).sum(), group.len() as i64);
        if !groups(&ReferenceInputs::new(case).array("x"), &dims).1.iter().all(|group| fits(group)) {
            return Contract::Unspecified("a mean that is not an integer");
        }
    }
    Contract::accepts(x.dtype, &reduced_shape(&x.shape, &dims, case.text("form") == "keepdim"))
}

/// The reduction by `f` over the dimensions of the case.
pub fn over_dims(inputs: &ReferenceInputs, f: impl Fn(&[Num]) -> Num) -> Vec<ArrayD<Num>> {
    let x = inputs.array("x");
    let dims = reduced_dims(inputs.case, x.ndim());
    reduced(&x, &dims, inputs.case.text("form") == "keepdim", f)
}
