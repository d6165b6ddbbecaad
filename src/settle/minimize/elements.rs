//! Passes over the dtypes and values of tensors.

use std::collections::BTreeSet;

use super::edit::{with_input, with_inputs};
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

/// Replaces single values by 0, 1 or rounder ones.
pub fn values(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    for (name, tensor) in &case.inputs {
        let mut replace = |edit: &dyn Fn(&mut Values, Value), value: Value| {
            candidates.extend(simpler_values(tensor.dtype, value).into_iter().map(|new| {
                with_input(case, name, |t| {
                    let mut t = t.clone();
                    edit(&mut t.values, new);
                    t
                })
            }));
        };
        match &tensor.values {
            Values::List(values) => {
                for (position, &value) in values.iter().enumerate() {
                    let edit = |values: &mut Values, new: Value| {
                        if let Values::List(list) = values {
                            list[position] = new;
                        }
                    };
                    replace(&edit, value);
                }
            }
            Values::Fill(fill) => {
                let set_constant = |values: &mut Values, new: Value| {
                    if let Values::Fill(fill) = values {
                        fill.constant = new;
                    }
                };
                replace(&set_constant, fill.constant);
                for (entry, &(_, value)) in fill.except.iter().enumerate() {
                    let edit = |values: &mut Values, new: Value| {
                        if let Values::Fill(fill) = values {
                            fill.except[entry].1 = new;
                        }
                    };
                    replace(&edit, value);
                }
            }
        }
    }
    candidates
}

/// Simpler values of `dtype` than `value`.
fn simpler_values(dtype: DType, value: Value) -> Vec<Value> {
    let mut values = vec![Value::of(dtype, 0.0), Value::of(dtype, 1.0)];
    match value {
        Value::Float(float) if float.is_finite() => {
            values.extend([float.round(), float / 2.0, float.abs()].map(|float| Value::of(dtype, float)));
        }
        Value::Float(_) => {}
        Value::Int(int) => values.extend([2, 3, int / 2, int - int.signum()].map(Value::Int)),
    }
    values.retain(|new| *new < value);
    values
}
