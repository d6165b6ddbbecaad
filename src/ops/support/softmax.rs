//! What `softmax` and `log_softmax` share.

use ndarray::{ArrayD, Axis};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::ReferenceInputs;
use crate::tensor::Support;

/// A case with an `x` of this shape.
pub fn draw_x(draw: &mut Draw, support: &Support, shape: &[usize]) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let mut case = Case::default().input("x", draw.tensor(dtype, shape)?);
    case.backward = draw.backward()?;
    Ok(case)
}

/// `f` of every element and of `ln(sum(exp))` of its row along `dim` (the last dimension for `None`).
pub fn along(inputs: &ReferenceInputs, dim: Option<usize>, f: impl Fn(Num, Num) -> Num) -> Vec<ArrayD<Num>> {
    let mut x = inputs.array("x");
    if x.is_empty() {
        return vec![x];
    }
    let dim = dim.unwrap_or(x.ndim().saturating_sub(1));
    for mut lane in x.lanes_mut(Axis(dim)) {
        let row: Vec<Num> = lane.iter().copied().collect();
        let log_sum_exp = Num::log_sum_exp(&row);
        lane.iter_mut().for_each(|x| *x = f(*x, log_sum_exp));
    }
    vec![x]
}

/// Whether `x` is -inf in a row with a finite sum.
pub fn is_masked(x: Num, log_sum_exp: Num) -> bool {
    x.value == f64::NEG_INFINITY && log_sum_exp.value.is_finite()
}
