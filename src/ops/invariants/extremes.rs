//! The extreme of a group is one of its elements, and no other is beyond it. Integers are compared as such, which `f64` does not tell apart.

use std::cmp::Ordering;

use super::groups;
use crate::case::Case;
use crate::ops::in_range;
use crate::tensor::{Tensor, Value};

/// The first output that is not the extreme of its group of `x`, or if `positions` not the position of one. `best` is how an extreme compares
/// with the others.
pub fn not_extreme(best: Ordering, positions: bool, case: &Case, output: &Tensor) -> Option<String> {
    let x = case.tensor("x")?;
    let (values, results, groups) = (x.expanded(), output.expanded(), groups::of(case, x)?);
    if groups.len() != results.len() {
        return None;
    }
    groups.iter().zip(results).enumerate().find_map(|(element, (group, got))| {
        let members: Vec<Value> = group.iter().map(|&at| values[at]).collect();
        let position = got.as_i64();
        if positions && !in_range(position, members.len()) {
            return Some(format!("element {element}: expected a position below {}, got {position}", members.len()));
        }
        if members.iter().any(|value| value.as_f64().is_nan()) {
            return None;
        }
        let better = |one: Value, other: Value| if compared(other, one) == Some(best) { other } else { one };
        let extreme = members.iter().copied().reduce(better)?;
        let got = if positions { members[position as usize] } else { got };
        let is_right = compared(got, extreme) == Some(Ordering::Equal);
        (!is_right).then(|| format!("element {element}: expected {extreme}, got {got}"))
    })
}

/// The order of two values of one dtype. `f64` does not tell all integers apart.
pub(super) fn compared(left: Value, right: Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(&right)),
        _ => left.as_f64().partial_cmp(&right.as_f64()),
    }
}
