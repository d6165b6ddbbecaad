//! What `softmax` and `log_softmax` share.

use ndarray::{ArrayD, Axis};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::{Num, accumulator};
use crate::ops::ReferenceInputs;
use crate::tensor::Support;

/// A case with an `x` of this shape.
pub fn draw_x(draw: &mut Draw, support: &Support, shape: &[usize]) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let mut case = Case::default().input("x", draw.tensor(dtype, shape)?);
    case.backward = draw.backward()?;
    Ok(case)
}

/// Every row along `dim` (the last dimension for `None`) replaced by `f` of it.
pub fn along(inputs: &ReferenceInputs, dim: Option<usize>, f: impl Fn(&[Num]) -> Vec<Num>) -> Vec<ArrayD<Num>> {
    let mut x = inputs.array("x");
    if x.is_empty() {
        return vec![x];
    }
    let dim = dim.unwrap_or(x.ndim().saturating_sub(1));
    for mut lane in x.lanes_mut(Axis(dim)) {
        let row: Vec<Num> = lane.iter().copied().collect();
        lane.iter_mut().zip(f(&row)).for_each(|(x, result)| *x = result);
    }
    vec![x]
}

/// `exp(x) / sum(exp(x))` of the elements of a row. -inf masks an element: it is 0, whatever else is in the row.
pub fn softmax(row: &[Num]) -> Vec<Num> {
    let Shifted { terms, sum, residue } = shifted(row);
    let share = |x: &Num| if is_masked(x, sum) { x.limit(0.0) } else { x.exp() / sum };
    let with_residue = |share: Num| Num { slope_error: share.slope_error + residue * share.value, ..share };
    terms.iter().map(|x| with_residue(share(x))).collect()
}

/// [`softmax`] of a row whose derivatives are made of the results, as they are rounded to the dtype.
pub fn softmax_of_rounded(row: &[Num]) -> Vec<Num> {
    let shares = Num::fused(row, softmax);
    let spread: f64 = shares.iter().zip(row).map(|(share, x)| (share.value * x.slope).abs()).sum();
    let rounded = |(share, x): (Num, &Num)| {
        let slope_error = share.slope_error + share.unit * share.value.abs() * (x.slope.abs() + spread);
        Num { slope_error, ..share }
    };
    shares.into_iter().zip(row).map(rounded).collect()
}

/// `x - ln(sum(exp(x)))` of the elements of a row. -inf masks an element.
pub fn log_softmax(row: &[Num]) -> Vec<Num> {
    let Shifted { terms, sum, residue } = shifted(row);
    let log = sum.ln();
    let log = Num { slope_error: log.slope_error + residue / terms.len() as f64, ..log };
    terms.iter().map(|x| if is_masked(x, sum) { x.limit(x.value) } else { *x - log }).collect()
}

/// A row less its largest element, and the sum of the exponentials of these differences.
struct Shifted {
    terms: Vec<Num>,
    sum: Num,
    /// The roundoff of the sum that a backward pass sends through the largest element: it is 0 but for that.
    residue: f64,
}

fn shifted(row: &[Num]) -> Shifted {
    let largest = row.iter().fold(f64::NEG_INFINITY, |largest, x| largest.max(x.value));
    let terms: Vec<Num> = row.iter().map(|&x| x - Num::exact(largest)).collect();
    let sum = Num::sum(terms.iter().map(|x| x.exp()));
    let slopes = row.iter().filter(|x| x.value == largest).map(|x| x.slope.abs());
    let residue = slopes.fold(0.0, f64::max) * row.len() as f64 * accumulator(sum.unit);
    Shifted { terms, sum, residue }
}

fn is_masked(x: &Num, sum: Num) -> bool {
    x.value == f64::NEG_INFINITY && sum.value.is_finite()
}
