//! Compares a result with a more precise one of the same call.

use crate::oracle::Evidence;
use crate::outcome::{Observation, Returned};
use crate::tensor::{DType, Tensor};

/// Between larger numbers roundings may be as large as what is left of a difference.
const MODERATE: f64 = 1024.0;

/// The first difference between `own` and `precise` that roundings do not explain; an `Err` says why they are not compared.
pub fn difference(
    evidence: &Evidence,
    seen: &Observation,
    own: &Returned,
    precise: &Returned,
) -> Result<Option<String>, &'static str> {
    if seen.again.is_some() {
        return Err("its own runs differ");
    }
    if evidence.any_value(|value| !(value.abs() <= MODERATE)) {
        return Err("numbers of which roundings may leave nothing");
    }
    let mut pairs = own.outputs.iter().zip(&precise.outputs);
    Ok(pairs.find_map(|(own, precise)| element_off(own, precise)))
}

/// The first element that is further from the precise one than roundings explain. A number that the dtype holds with room must be one.
fn element_off(own: &Tensor, precise: &Tensor) -> Option<String> {
    if own.shape != precise.shape {
        return Some(format!("shapes {:?} and {:?}", own.shape, precise.shape));
    }
    let pairs: Vec<(f64, f64)> = own.floats().into_iter().zip(precise.floats()).collect();
    let fits = |value: f64| value.is_finite() && value.abs() < own.dtype.max() / 4.0;
    let largest =
        pairs.iter().map(|pair| pair.1).filter(|&value| fits(value)).fold(0.0, |most: f64, b| most.max(b.abs()));
    let (share, underflow) = slack(own.dtype);
    let bound = largest * share + underflow;
    let is_off = |&(a, b): &(f64, f64)| fits(b) && (!a.is_finite() || (a - b).abs() > bound);
    let position = pairs.iter().position(is_off)?;
    let (a, b) = pairs[position];
    Some(format!("element {position}: {a:?} and {b:?}"))
}

/// How far off a result of this dtype may be: a share of the largest element, a hundred roundings and more, and what underflows.
fn slack(dtype: DType) -> (f64, f64) {
    match dtype {
        DType::F64 => (1e-8, 1e-300),
        DType::F32 => (0.01, 1e-30),
        DType::Bf16 => (0.125, 1e-30),
        _ => (0.125, 0.002),
    }
}
