//! Passes over the dtypes and values of tensors.

use std::collections::BTreeSet;

use super::edit::{Edit, with_input, with_inputs};
use crate::case::Case;
use crate::tensor::{DType, Fill, Tensor, Value, Values, cast};

/// Simpler dtypes: for all inputs of one dtype at once, then for one input at a time.
pub fn dtypes(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    let simpler = |from: DType| {
        let alike = move |to: DType| to.is_float() == from.is_float() || to == DType::F32;
        DType::ALL.into_iter().filter(move |&to| to < from && alike(to))
    };
    let present: BTreeSet<DType> = case.inputs.values().map(|tensor| tensor.dtype).collect();
    for &from in present.iter().rev() {
        for to in simpler(from) {
            let lower = |t: &Tensor| if t.dtype == from { cast(t, to) } else { t.clone() };
            candidates.push(with_inputs(case, lower));
        }
    }
    for (name, tensor) in &case.inputs {
        candidates.extend(simpler(tensor.dtype).map(|to| with_input(case, name, |t| cast(t, to))));
    }
    candidates
}

/// Constant tensors, and fills without noise or without an exception.
pub fn fills(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    for (name, tensor) in &case.inputs {
        let count = tensor.stored().unwrap_or(0);
        for constant in [0.0, 1.0] {
            candidates.push(with_input(case, name, |t| with_constant(t, count, Value::of(t.dtype, constant))));
        }
        match &tensor.values {
            Values::Fill(fill) => {
                let mut simpler =
                    vec![Fill { noise: None, ..fill.clone() }, Fill { except: Vec::new(), ..fill.clone() }];
                for skip in 0..fill.except.len() {
                    let mut fewer = fill.clone();
                    fewer.except.remove(skip);
                    simpler.push(fewer);
                }
                if count <= 8 {
                    let list = Values::List(tensor.values.to_vec(count));
                    candidates.push(with_input(case, name, |t| Tensor { values: list.clone(), ..t.clone() }));
                }
                candidates.extend(simpler.into_iter().map(|fill| {
                    with_input(case, name, |t| Tensor { values: Values::Fill(fill.clone()), ..t.clone() })
                }));
            }
            Values::List(values) if count > 8 => {
                // A single value among zeros is short as text.
                let zero = Value::of(tensor.dtype, 0.0);
                for (position, &value) in values.iter().enumerate().take(64) {
                    let fill = Fill { except: vec![(position, value)], ..Fill::constant(zero) };
                    candidates
                        .push(with_input(case, name, |t| Tensor { values: Values::Fill(fill.clone()), ..t.clone() }));
                }
            }
            Values::List(_) => {}
        }
    }
    candidates
}

fn with_constant(tensor: &Tensor, count: usize, value: Value) -> Tensor {
    let values = if count <= 8 { Values::List(vec![value; count]) } else { Values::Fill(Fill::constant(value)) };
    Tensor { values, ..tensor.clone() }
}

/// Values that become 0, 1 or rounder, each an edit.
pub static VALUES: &[fn(&Case) -> Vec<Edit>] = &[
    |case| simpler(case, |dtype, _| Some(Value::of(dtype, 0.0))),
    |case| simpler(case, |dtype, _| Some(Value::of(dtype, 1.0))),
    |case| simpler(case, |dtype, value| Some(Value::of(dtype, finite(value)?.round()))),
    |case| simpler(case, |dtype, value| Some(Value::of(dtype, finite(value)? / 2.0))),
    |case| simpler(case, |dtype, value| Some(Value::of(dtype, finite(value)?.abs()))),
    |case| simpler(case, |_, value| integer(value).map(|_| Value::Int(2))),
    |case| simpler(case, |_, value| integer(value).map(|_| Value::Int(3))),
    |case| simpler(case, |_, value| integer(value).map(|int| Value::Int(int / 2))),
    |case| simpler(case, |_, value| integer(value).map(|int| Value::Int(int - int.signum()))),
];

fn finite(value: Value) -> Option<f64> {
    match value {
        Value::Float(float) => Some(float).filter(|float| float.is_finite()),
        Value::Int(_) => None,
    }
}

fn integer(value: Value) -> Option<i64> {
    match value {
        Value::Int(int) => Some(int),
        Value::Float(_) => None,
    }
}

/// An edit for each value that `simpler` makes simpler.
fn simpler(case: &Case, simpler: fn(DType, Value) -> Option<Value>) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    for (name, tensor) in &case.inputs {
        for (place, value) in tensor.values.listed().into_iter().enumerate() {
            let Some(new) = simpler(tensor.dtype, value).filter(|new| *new < value) else { continue };
            let name = name.clone();
            edits.push(Box::new(move |case| {
                if let Some(tensor) = case.inputs.get_mut(&name) {
                    *tensor.values.listed_mut()[place] = new;
                }
            }));
        }
    }
    edits
}
