//! Normalization over the last dimension, as functions and as layers.

use ndarray::{ArrayD, Axis};

use crate::case::{Backward, Case};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::reducing::reductions::squared;
use crate::ops::{Contract, ReferenceInputs, rule, why};
use crate::tensor::{DType, Support, Tensor};

/// The dtypes of the fused ops.
pub const FUSED: &Support = &Support { of: "x", cpu: &[DType::F32, DType::F16, DType::Bf16], cuda: &DType::FLOATS };

/// Where the contract of the layers comes from.
pub const LAYER_PROMISE: &str = "candle-nn/src/layer_norm.rs:1-137, 180-215: fused where x is contiguous, else composed; torch.nn.LayerNorm \
     and torch.nn.RMSNorm";

/// A case of `x` and `weights` of its last dimension, mostly contiguous.
pub fn generate(draw: &mut Draw, support: &Support, weights: &[&str]) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let mut shape = draw.open_shape(0, 3)?;
    let hidden = draw.lane()?;
    shape.push(hidden);
    let mut case = Case::default().input("x", draw.packed(dtype, &shape)?);
    for weight in weights {
        case = case.input(weight, draw.packed(dtype, &[hidden])?);
    }
    case.backward = draw.backward()?;
    with_eps(draw, case, dtype)
}

/// `case` with an `eps` that `dtype` holds, without a backward pass where gradients are unspecified.
pub fn with_eps(draw: &mut Draw, case: Case, dtype: DType) -> arbitrary::Result<Case> {
    let eps = *draw.choose(&[1e-5, 1e-5, 1e-3, 1.0])?;
    let case = case.param("eps", if eps < dtype.smallest() { 0.125 } else { eps });
    let forward = unspecified_arguments(&case, dtype).is_some();
    Ok(if forward { Case { backward: Backward::None, ..case } } else { case })
}

/// The contract of a fused norm, which takes contiguous inputs.
pub fn fused_contract(case: &Case, weights: &[&str]) -> Contract {
    fitting(case, weights).may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
}

/// The contract of a norm made of ops that broadcast: weights of another shape may fit too.
pub fn composed_contract(case: &Case, weights: &[&str]) -> Contract {
    match fitting(case, weights) {
        Contract::Rejects(rule) if [rule::SHAPES, rule::RANK].contains(rule) && broadcast(case, weights) => {
            Contract::Unspecified("weights of a different shape")
        }
        other => other,
    }
}

/// Whether all weights broadcast to `x`.
fn broadcast(case: &Case, weights: &[&str]) -> bool {
    let Some(x) = case.tensor("x").filter(|x| !x.shape.is_empty()) else { return false };
    let fits = |weight: &Tensor| {
        let pairs = weight.shape.iter().rev().zip(x.shape.iter().rev());
        weight.shape.len() <= x.shape.len() && pairs.into_iter().all(|(&own, &of_x)| own == of_x || own == 1)
    };
    weights.iter().all(|weight| case.tensor(weight).is_some_and(fits))
}

/// The contract of a layer that takes the fused form for a contiguous `x`, and the composed one for any other.
pub fn layer_contract(case: &Case, weights: &[&str]) -> Contract {
    let strided = |name: &&str| case.tensor(name).is_some_and(|tensor| !tensor.view.is_contiguous());
    let contract = if strided(&"x") { composed_contract(case, weights) } else { fused_contract(case, weights) };
    contract.may_refuse(weights.iter().any(strided), why::CONTIGUOUS)
}

/// Accepts weights that are one value for each element of the last dimension.
fn fitting(case: &Case, weights: &[&str]) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
    let Some(&hidden) = x.shape.last() else { return Contract::Rejects(&rule::RANK) };
    if !x.dtype.is_float() && x.elements() == Some(0) {
        return Contract::Unspecified(why::NO_INTEGERS);
    }
    if !x.dtype.is_float() {
        return Contract::Rejects(&rule::NORM);
    }
    for weight in weights {
        let Some(weight) = case.tensor(weight) else { return Contract::Rejects(&rule::SHAPES) };
        if weight.shape.len() != 1 {
            return Contract::Rejects(&rule::RANK);
        }
        if weight.shape[0] != hidden {
            return Contract::Rejects(&rule::SHAPES);
        }
        if weight.dtype != x.dtype {
            return Contract::mixed(x);
        }
    }
    unspecified_arguments(case, x.dtype).unwrap_or_else(|| Contract::accepts(x.dtype, &x.shape))
}

/// Unspecified where the dtype has no such `eps`, or where gradients are too large.
pub fn unspecified_arguments(case: &Case, dtype: DType) -> Option<Contract> {
    let eps = case.float("eps");
    let is_odd = !(eps == 0.0 || (dtype.smallest()..=dtype.max()).contains(&eps));
    // Infinity is the largest number of a dtype that has none.
    if is_odd && (!case.backward.is_none() || dtype == DType::F8e4m3) {
        return Some(Contract::Unspecified("gradients with an eps that is negative, or that the dtype cannot hold"));
    }
    // Squares of half precision are added up in `f32`.
    let most = if dtype == DType::F64 { DType::F64 } else { DType::F32 }.max().sqrt();
    let huge = |tensor: &Tensor| tensor.values.listed().iter().any(|value| value.as_f64().abs() > most);
    let overflows = !case.backward.is_none() && case.inputs.values().any(huge);
    overflows.then_some(Contract::Unspecified(why::HUGE))
}

/// The `eps` of the case as candle takes it.
pub fn eps_f32(case: &Case) -> f32 {
    case.float("eps") as f32
}

/// The `eps` of the case, which may be held in `f32` or in the dtype of `x`.
pub fn epsilon(case: &Case) -> Num {
    let (eps, dtype) = (case.float("eps"), case.tensor("x").map_or(DType::F32, |x| x.dtype));
    let error = match eps.abs() {
        size if !size.is_finite() => 0.0,
        size if size > dtype.max() => f64::INFINITY,
        // It may be 0, and so may the root.
        size if size < dtype.smallest() => 4.0 * size,
        _ => (f64::from(eps as f32) - eps).abs(),
    };
    Num { error, ..Num::exact(eps) }
}

/// `row`, less its mean if `centered`, over the root of its mean square.
pub fn standardized(row: &[Num], eps: Num, centered: bool) -> Vec<Num> {
    let mut row = row.to_vec();
    // The variance may be the mean of the squares less the square of the mean, as PyTorch's is for some widths.
    let largest = row.iter().fold(0.0, |largest: f64, x| largest.max(x.value.abs()));
    let peak = if centered && largest.is_finite() { largest * largest } else { 0.0 };
    if centered {
        let mean = Num::mean(&row);
        for x in &mut row {
            *x = *x - mean;
        }
    }
    let squares: Vec<Num> = row.iter().map(|&x| squared(x)).collect();
    let size = (Num::mean(&squares) + eps).sqrt();
    let divided = |x: Num| {
        let quotient = x / size;
        Num { peak: quotient.peak.max(peak), ..quotient }
    };
    row.into_iter().map(divided).collect()
}

/// Every row of `x` standardized in at least `f32`, as PyTorch and candle do (candle-nn/src/layer_norm.rs:116-137), times the input `scale`, plus the input `shift` of ops that have one.
pub fn normalized(inputs: &ReferenceInputs, centered: bool, scale: &str, shift: Option<&str>) -> Vec<ArrayD<Num>> {
    let (mut x, scale, shift) = (inputs.array("x"), inputs.array(scale), shift.map(|shift| inputs.array(shift)));
    let eps = epsilon(inputs.case);
    if x.is_empty() {
        return vec![x];
    }
    let last = Axis(x.ndim() - 1);
    for mut lane in x.lanes_mut(last) {
        let row: Vec<Num> = lane.iter().copied().collect();
        for (position, (slot, value)) in
            lane.iter_mut().zip(Num::fused(&row, |row| standardized(row, eps, centered))).enumerate()
        {
            let scaled = value * scale[[position]];
            *slot = shift.as_ref().map_or(scaled, |shift| scaled + shift[[position]]);
        }
    }
    vec![x]
}
