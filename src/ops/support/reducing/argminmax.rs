//! Extremes along a dimension, and their positions.

use candle_core::{Result, Tensor as Candle};
use ndarray::ArrayD;

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::reducing::reductions::{ANY_VALUE, reduced, reduced_shape};
use crate::ops::{Call, Contract, ReferenceInputs, rule};
use crate::tensor::{DType, Support};

/// The dtypes of these ops.
pub const SUPPORT: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD };

/// Where the contract of these ops comes from.
pub const EXTREME_PROMISE: &str = "candle-core/src/tensor.rs:1085-1105, 2116-2149; torch.aminmax: NaN values are \
    propagated, and an empty tensor has no extreme";

/// Where the contract of these ops comes from.
pub const POSITION_PROMISE: &str = "candle-core/src/tensor.rs:1107-1123; the notes of torch.argmax and torch.argmin: \
    \"if there are multiple maximal values then the indices of the first maximal value are returned\"; both, and numpy.argmax, return \
    the position of the first NaN if there is one";

/// A case in one of these `form`s.
pub fn generate(draw: &mut Draw, forms: &[&str]) -> arbitrary::Result<Case> {
    let mut shape = draw.open_shape(0, 3)?;
    let dim = draw.between(0, shape.len())?;
    shape.insert(dim, draw.reduced()?.max(1));
    let dtype = draw.dtype(SUPPORT)?;
    let form = *draw.choose(forms)?;
    if form == "all" {
        for n in &mut shape {
            *n = (*n).max(1);
        }
    }
    let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?).param("form", form).param("dim", dim);
    case.backward = draw.backward()?;
    Ok(case)
}

/// The dimensions that a case reduces; `None` where a tensor of this rank lacks one.
fn dims(case: &Case, rank: usize) -> Option<Vec<usize>> {
    match case.text("form") {
        "all" => Some((0..rank).collect()),
        _ => Some(case.size("dim")).filter(|&dim| dim < rank).map(|dim| vec![dim]),
    }
}

/// Accepts a reduction with an output of this dtype, or of that of `x`.
pub fn contract(case: &Case, dtype: Option<DType>) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
    let Some(dims) = dims(case, x.shape.len()) else { return Contract::Rejects(&rule::DIM) };
    let shape = reduced_shape(&x.shape, &dims, case.text("form") == "keepdim");
    if dims.iter().any(|&dim| x.shape[dim] == 0) {
        return Contract::Rejects(&rule::EMPTY_EXTREME);
    }
    Contract::accepts(dtype.unwrap_or(x.dtype), &shape)
}

/// The one output of a call, with the dimension squeezed or kept, or of all elements.
pub fn along_dim(
    call: &Call,
    squeezed: fn(&Candle, usize) -> Result<Candle>,
    kept: fn(&Candle, usize) -> Result<Candle>,
    all: fn(&Candle) -> Result<Candle>,
) -> Result<Vec<Candle>> {
    let (x, dim) = (call.tensor("x")?, call.size("dim"));
    Ok(vec![match call.case.text("form") {
        "all" => all(x)?,
        "keepdim" => kept(x, dim)?,
        _ => squeezed(x, dim)?,
    }])
}

/// The reduction by `f` over the dimensions of the case.
pub fn over_dim(inputs: &ReferenceInputs, f: impl Fn(&[Num]) -> Num) -> Vec<ArrayD<Num>> {
    let x = inputs.array("x");
    let dims = dims(inputs.case, x.ndim()).unwrap_or_default();
    reduced(&x, &dims, inputs.case.text("form") == "keepdim", f)
}

/// The position of the first element that no other `beats`.
fn first(group: &[Num], beats: fn(f64, f64) -> bool) -> usize {
    let better = |best: usize, position: usize| beats(group[position].value, group[best].value);
    (1..group.len()).fold(0, |best, position| if better(best, position) { position } else { best })
}

/// The element that no other `beats`, or NaN if there is one. Among several that may be equal there is a derivative only if all move alike.
pub fn extreme(group: &[Num], beats: fn(f64, f64) -> bool) -> Num {
    if group.iter().any(|x| x.value.is_nan()) {
        return Num::exact(f64::NAN);
    }
    let Some(&best) = group.get(first(group, beats)) else { return Num::exact(f64::NAN) };
    let rivals = || group.iter().filter(|x| x.may_equal(&best));
    Num {
        error: rivals().fold(0.0, |error, x| error.max(x.error)),
        slope_error: rivals().fold(0.0, |error, x| error.max(x.slope_error)),
        kink: rivals().any(|x| x.kink || x.slope != best.slope),
        indeterminate: rivals().any(|x| x.indeterminate),
        ..best
    }
}

/// The position of the first NaN, or else of the first element that no other `beats`: unspecified if another may be equal that was
/// computed, or is an integer that `f64` does not tell apart, or if an element may be NaN.
pub fn position(group: &[Num], beats: fn(f64, f64) -> bool) -> Num {
    if group.iter().any(|x| x.indeterminate) {
        return ANY_VALUE;
    }
    if let Some(nan) = group.iter().position(|x| x.value.is_nan()) {
        return Num::exact(nan as f64);
    }
    let first = first(group, beats);
    let best = &group[first];
    let is_unclear = |(at, x): (usize, &Num)| at != first && best.error + x.error > 0.0 && x.may_equal(best);
    if group.iter().enumerate().any(is_unclear) { ANY_VALUE } else { Num::exact(first as f64) }
}
