//! The minimizer's passes: each lists simpler neighbours of a case, the boldest first.

use std::collections::BTreeSet;

use crate::case::{Backward, Case};
use crate::generate::with_sizes;
use crate::tensor::{DType, Fill, Tensor, Value, Values, View};
use crate::tensor::{cast, resized, sliced, viewed, without_dim};

/// Sizes that a size may shrink to, the boldest first.
fn smaller(size: usize) -> Vec<usize> {
    let mut sizes = vec![1, 2, 3, 0];
    let mut step = size / 2;
    while step > 0 {
        sizes.push(size - step);
        step /= 2;
    }
    let mut seen = BTreeSet::new();
    sizes.retain(|&n| (n < size || (n <= 2 && size == 0)) && n != size && seen.insert(n));
    sizes
}

/// The case with `edit` applied to the input `name`, if it has one.
pub(super) fn with_input(case: &Case, name: &str, edit: impl Fn(&Tensor) -> Tensor) -> Case {
    let mut case = case.clone();
    if let Some(tensor) = case.inputs.get_mut(name) {
        *tensor = edit(tensor);
    }
    case
}

/// The case with `edit` applied to every input.
pub(super) fn with_inputs(case: &Case, edit: impl Fn(&Tensor) -> Tensor) -> Case {
    let inputs = case.inputs.iter().map(|(name, tensor)| (name.clone(), edit(tensor))).collect();
    Case { inputs, ..case.clone() }
}

/// A sequence without one of its steps. Without the first, its inputs are the next one's.
pub fn steps(case: &Case) -> Vec<Case> {
    let without = |skip: usize| {
        let mut calls = case.calls();
        let dropped = calls.remove(skip);
        if let Some(first) = calls.first_mut().filter(|_| skip == 0) {
            for (name, tensor) in dropped.inputs {
                first.inputs.entry(name).or_insert(tensor);
            }
        }
        case.with_calls(calls)
    };
    (0..case.steps.len()).map(without).collect()
}

/// Equal sizes everywhere at once: dimensions that belong together usually have the same size.
pub fn sizes(case: &Case) -> Vec<Case> {
    let mut all: Vec<usize> = case.inputs.values().flat_map(|tensor| tensor.shape.clone()).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.dedup();
    let replace = |pairs: &[(usize, usize)]| with_sizes(case, pairs);
    let mut candidates = Vec::new();
    for &from in &all {
        candidates.extend(smaller(from).into_iter().map(|to| replace(&[(from, to)])));
    }
    // Channels and groups: one size is a multiple of another, and both shrink by the same factor.
    for &factor in all.iter().filter(|factor| **factor > 1) {
        let multiples = all.iter().filter(|n| **n > factor && *n % factor == 0);
        candidates.extend(multiples.map(|&multiple| replace(&[(factor, 1), (multiple, multiple / factor)])));
    }
    candidates
}

/// One dimension of one input at a time, and the same dimension of all inputs.
pub fn dims(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    let rank = case.inputs.values().map(|tensor| tensor.shape.len()).max().unwrap_or(0);
    for dim in 0..rank {
        for to in [1, 2] {
            candidates.push(with_inputs(case, |tensor| match tensor.shape.get(dim) {
                Some(&n) if n > to => with_size(tensor, dim, to),
                _ => tensor.clone(),
            }));
        }
    }
    candidates.extend(slices(case));
    for (name, tensor) in &case.inputs {
        for (dim, &size) in tensor.shape.iter().enumerate() {
            candidates.extend(smaller(size).into_iter().map(|to| with_input(case, name, |t| with_size(t, dim, to))));
        }
    }
    candidates
}

/// The last or a middle entry of a dimension, of all inputs that have it in the same size and place, and of one.
fn slices(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    for (name, tensor) in &case.inputs {
        for (dim, &size) in tensor.shape.iter().enumerate().filter(|(_, size)| **size > 1) {
            for (start, count) in [(size - 1, 1), (size / 2, 1), (size / 2, size - size / 2), (1, size - 1)] {
                let fits = |t: &Tensor| t.shape.get(dim) == Some(&size);
                let cut = |t: &Tensor| if fits(t) { sliced(t, dim, start, count) } else { t.clone() };
                candidates.push(with_inputs(case, cut));
                candidates.push(with_input(case, name, |t| sliced(t, dim, start, count)));
            }
        }
    }
    candidates
}

pub(super) fn with_size(tensor: &Tensor, dim: usize, size: usize) -> Tensor {
    let mut shape = tensor.shape.clone();
    shape[dim] = size;
    resized(tensor, shape)
}

/// Dimensions that go altogether: from all inputs of one rank, from all that have it, from one.
pub fn ranks(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    let ranks: BTreeSet<usize> = case.inputs.values().map(|tensor| tensor.shape.len()).collect();
    for &rank in ranks.iter().rev() {
        for dim in 0..rank {
            let drop_in = |wanted: &dyn Fn(usize) -> bool| {
                with_inputs(case, |t| if wanted(t.shape.len()) { without_dim(t, dim) } else { t.clone() })
            };
            candidates.push(drop_in(&|n| n == rank));
            candidates.push(drop_in(&|n| n > dim));
        }
    }
    for (name, tensor) in &case.inputs {
        candidates.extend((0..tensor.shape.len()).map(|dim| with_input(case, name, |t| without_dim(t, dim))));
    }
    // A dimension fewer may move the one that the op works on.
    let moved: Vec<Case> = candidates.iter().flat_map(lower_dim_params).collect();
    candidates.extend(moved);
    candidates
}

/// `case` with `dim` one lower, and with `dims` as they are without one of the dimensions below the last.
fn lower_dim_params(case: &Case) -> Vec<Case> {
    let dim = case.int("dim", 0);
    let mut candidates = Vec::from_iter((dim > 0).then(|| case.clone().param("dim", dim - 1)));
    let dims = case.sizes("dims");
    for gone in 0..dims.iter().max().map_or(0, |last| last + 1) {
        let left = dims.iter().filter(|&&dim| dim != gone).map(|&dim| if dim > gone { dim - 1 } else { dim });
        candidates.push(case.clone().param("dims", left.collect::<Vec<usize>>()));
    }
    candidates
}

/// Inputs and params that the op may do without.
pub fn inputs(case: &Case) -> Vec<Case> {
    let without_input = case.inputs.keys().map(|name| {
        let mut case = case.clone();
        case.inputs.remove(name);
        case
    });
    let without_param = case.params.keys().map(|name| {
        let mut case = case.clone();
        case.params.remove(name);
        case
    });
    without_input.chain(without_param).collect()
}

/// Views that become contiguous, or lose one feature, or get smaller margins.
pub fn views(case: &Case) -> Vec<Case> {
    let mut candidates = vec![case.contiguous()];
    for (name, tensor) in &case.inputs {
        let view = &tensor.view;
        let mut simpler = vec![
            View::default(),
            View { order: Vec::new(), ..view.clone() },
            View { before: Vec::new(), ..view.clone() },
            View { after: Vec::new(), ..view.clone() },
            View { step: Vec::new(), ..view.clone() },
            View { broadcast: Vec::new(), ..view.clone() },
        ];
        let low = |list: &[usize], most: usize| list.iter().map(|&n| n.min(most)).collect::<Vec<_>>();
        simpler.push(View { before: low(&view.before, 1), after: low(&view.after, 1), ..view.clone() });
        simpler.push(View { step: low(&view.step, 2), ..view.clone() });
        for skip in &view.broadcast {
            let broadcast = view.broadcast.iter().copied().filter(|dim| dim != skip).collect();
            simpler.push(View { broadcast, ..view.clone() });
        }
        candidates
            .extend(simpler.into_iter().map(|view| with_input(case, name, |t| viewed(t, view.clone().normalized()))));
    }
    candidates
}

/// Simpler dtypes: for all inputs of one dtype together, then one by one.
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

/// No backward pass, or the plainer one.
pub fn backward(case: &Case) -> Vec<Case> {
    [Backward::None, Backward::Sum].map(|backward| Case { backward, ..case.clone() }).to_vec()
}

/// Params that become 1, 0, 2 or half as large, one at a time.
pub fn params(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    for (name, place, value) in numbers(case) {
        let simpler: Vec<Value> = match value {
            // Steps of 1 only where they arrive somewhere.
            Value::Int(value) if value.abs() <= 16 => [0, 1, 2, 3, value / 2, value - 1].map(Value::Int).to_vec(),
            Value::Int(value) => [0, 1, 2, 3, value / 2].map(Value::Int).to_vec(),
            Value::Float(_) => [0.0, 1.0, 0.5, 2.0].map(Value::Float).to_vec(),
        };
        candidates.extend(simpler.into_iter().map(|value| with_number(case, name, place, value)));
    }
    candidates
}

/// Every number among the params: the param's name, and its place where the param is a list.
pub fn numbers(case: &Case) -> impl Iterator<Item = (&str, usize, Value)> {
    case.params.iter().flat_map(|(name, param)| {
        param.numbers().into_iter().enumerate().map(move |(place, value)| (name.as_str(), place, value))
    })
}

/// `case` with another number at this place.
pub fn with_number(case: &Case, name: &str, place: usize, value: Value) -> Case {
    let mut case = case.clone();
    if let Some(number) = case.params.get_mut(name).and_then(|param| param.numbers_mut().into_iter().nth(place)) {
        *number = value;
    }
    case
}

/// Whole tensors that become constant; fills that lose their noise or an exception.
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
                // A value that stands alone among zeros is three words of text.
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

/// Single values that become 0, 1 or rounder.
pub fn values(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    for (name, tensor) in &case.inputs {
        let dtype = tensor.dtype;
        let simpler = |value: Value| -> Vec<Value> {
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
        };
        let mut replace = |edit: &dyn Fn(&mut Values, Value), value: Value| {
            candidates.extend(simpler(value).into_iter().map(|new| {
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
