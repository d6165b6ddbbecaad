//! Inputs in one buffer: what candle gets from `narrow`, `chunk` or a clone, and what an op must not notice.

use arbitrary::Result;

use super::Draw;
use crate::case::Case;
use crate::tensor::{Tensor, Values};

/// Puts an input into the buffer of another one of its dtype: as the same elements, or as a part that overlaps with it or follows it.
/// False if the case has no two such inputs.
pub fn shared_buffer(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let pairs = pairs(case);
    if pairs.is_empty() {
        return Ok(false);
    }
    let (owner, guest) = draw.choose(&pairs)?.clone();
    let (of, own) = (&case.inputs[&owner], &case.inputs[&guest]);
    let mut shared = own.clone();
    if of.shape == own.shape && draw.one_in(2)? {
        shared = of.clone();
    } else if let (Values::List(_), Values::List(values)) = (&of.values, &own.values) {
        let length = of.buffer().0.len();
        // Its own values follow, if they do not overlap.
        let last = if values.len() <= length { length - 1 } else { length };
        shared.view.offset = if draw.one_in(2)? { draw.between(0, last)? } else { 0 };
    } else {
        return Ok(false);
    }
    shared.view.of = Some(owner);
    case.inputs.insert(guest, shared);
    case.repair_shared();
    Ok(true)
}

/// Every two inputs that can share a buffer: its owner, and the one that gets the owner's values. Of integers, the owner is the one
/// with the smaller values: those of ids are positions, of which a larger one may be out of range.
fn pairs(case: &Case) -> Vec<(String, String)> {
    let step = |name: &str| name.split_once('.').map(|(step, _)| step.to_string());
    let has_elements = |tensor: &Tensor| tensor.elements().is_some_and(|count| count > 0);
    let is_free = |name: &str, tensor: &Tensor| has_elements(tensor) && !case.is_shared(name);
    let free: Vec<_> = case.inputs.iter().filter(|(name, tensor)| is_free(name, tensor)).collect();
    let largest = |tensor: &Tensor| tensor.values.listed().iter().map(|value| value.as_i64() as u64).max();
    let mut pairs = Vec::new();
    for (owner, of) in &free {
        for (guest, own) in &free {
            let fits = owner != guest && of.dtype == own.dtype && step(owner) == step(guest);
            if fits && (of.dtype.is_float() || largest(of) <= largest(own)) {
                pairs.push(((*owner).clone(), (*guest).clone()));
            }
        }
    }
    pairs
}
