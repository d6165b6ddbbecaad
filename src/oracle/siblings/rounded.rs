//! Compares a result with a more precise one of the same call.

use crate::oracle::Evidence;
use crate::oracle::slack::Slack;
use crate::outcome::{Observation, Returned};
use crate::tensor::Tensor;

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
    for (own, precise) in own.outputs.iter().zip(&precise.outputs) {
        let slack = Slack::of(evidence.case, own.dtype).ok_or("numbers of which roundings may leave nothing")?;
        if let Some(difference) = element_off(own, precise, &slack) {
            return Ok(Some(difference));
        }
    }
    Ok(None)
}

/// The first element that is further from the precise one than roundings explain. A number that the dtype holds with room must be one.
fn element_off(own: &Tensor, precise: &Tensor, slack: &Slack) -> Option<String> {
    if own.shape != precise.shape {
        return Some(format!("shapes {:?} and {:?}", own.shape, precise.shape));
    }
    let pairs: Vec<(f64, f64)> = own.floats().into_iter().zip(precise.floats()).collect();
    let fits = |value: f64| value.is_finite() && value.abs() < own.dtype.max() / 4.0;
    let largest =
        pairs.iter().map(|pair| pair.1).filter(|&value| fits(value)).fold(0.0, |most: f64, b| most.max(b.abs()));
    let bound = slack.beside(largest);
    let is_off = |&(a, b): &(f64, f64)| fits(b) && (!a.is_finite() || (a - b).abs() > bound);
    let position = pairs.iter().position(is_off)?;
    let (a, b) = pairs[position];
    Some(format!("element {position}: {a:?} and {b:?}"))
}
