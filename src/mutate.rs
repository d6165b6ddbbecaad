//! Labelled violations: small edits that take a case out of its op's contract, or to its border. Knows tensors, not ops.

mod edits;

use arbitrary::Result;

use crate::case::Case;
use crate::generate::Draw;
use crate::tensor::{DType, Tensor, Value, Values, View, product};

pub use edits::{EDITS, spliced, with_sizes};

/// One kind of edit.
#[derive(Debug)]
pub struct Mutation {
    /// The label that statistics show.
    pub name: &'static str,
    /// Edits the case; false where the case has nothing to edit in this way.
    pub apply: fn(&mut Case, &mut Draw) -> Result<bool>,
}

/// Every labelled violation. Ids and params are what bug reports are about: they are drawn twice as often.
pub static VIOLATIONS: &[Mutation] = &[
    Mutation { name: "id out of range", apply: id_out_of_range },
    Mutation { name: "id out of range", apply: id_out_of_range },
    Mutation { name: "dim changed", apply: dim_changed },
    Mutation { name: "dim zero", apply: dim_zero },
    Mutation { name: "rank raised", apply: rank_raised },
    Mutation { name: "rank lowered", apply: rank_lowered },
    Mutation { name: "dtype changed", apply: dtype_changed },
    Mutation { name: "param extreme", apply: param_extreme },
    Mutation { name: "param extreme", apply: param_extreme },
    Mutation { name: "value special", apply: value_special },
];

/// An input by chance, with its name; `None` where the case has none that `wanted` takes.
fn any_input<'a>(
    case: &'a mut Case,
    draw: &mut Draw,
    wanted: impl Fn(&Tensor) -> bool,
) -> Result<Option<&'a mut Tensor>> {
    let names: Vec<String> = case.inputs.iter().filter(|(_, t)| wanted(t)).map(|(name, _)| name.clone()).collect();
    if names.is_empty() {
        return Ok(None);
    }
    let name = draw.choose(&names)?;
    Ok(case.inputs.get_mut(name))
}

/// A number of a param by chance; `None` where the case has no params, or the one drawn holds no number.
fn any_number<'a>(case: &'a mut Case, draw: &mut Draw) -> Result<Option<&'a mut Value>> {
    let names: Vec<String> = case.params.keys().cloned().collect();
    if names.is_empty() {
        return Ok(None);
    }
    let Some(param) = case.params.get_mut(draw.choose(&names)?) else { return Ok(None) };
    let mut numbers = param.numbers_mut();
    if numbers.is_empty() {
        return Ok(None);
    }
    let place = if numbers.len() == 1 { 0 } else { draw.between(0, numbers.len() - 1)? };
    Ok(Some(numbers.swap_remove(place)))
}

/// The ids that the field's bug reports are about, around every dimension of the case's tensors.
fn suspicious_ids(case: &Case, dtype: DType) -> Vec<i64> {
    let (low, high) = dtype.int_range().unwrap_or((0, 0));
    let mut ids = vec![-1, -100, low, high, high - 1, 254, 255, 256, 1 << 31];
    for tensor in case.inputs.values() {
        ids.extend(tensor.shape.iter().flat_map(|&n| [n as i64 - 1, n as i64, n as i64 + 1, -(n as i64)]));
    }
    ids.retain(|id| (low..=high).contains(id));
    ids
}

fn id_out_of_range(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let suspicious = DType::ALL.map(|dtype| suspicious_ids(case, dtype));
    let holds_ids = |t: &Tensor| !t.dtype.is_float() && t.stored().is_some_and(|n| n > 0);
    let Some(tensor) = any_input(case, draw, holds_ids)? else { return Ok(false) };
    let place = DType::ALL.iter().position(|&dtype| dtype == tensor.dtype).unwrap_or(0);
    let id = *draw.choose(&suspicious[place])?;
    put(tensor, draw, Value::Int(id))?;
    Ok(true)
}

fn value_special(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let Some(tensor) = any_input(case, draw, |t| t.stored().is_some_and(|n| n > 0))? else { return Ok(false) };
    let value = draw.special(tensor.dtype)?;
    put(tensor, draw, value)?;
    Ok(true)
}

fn put(tensor: &mut Tensor, draw: &mut Draw, value: Value) -> Result<()> {
    let position = draw.between(0, tensor.stored().unwrap_or(1) - 1)?;
    match &mut tensor.values {
        Values::List(values) => values[position] = value,
        Values::Fill(fill) => fill.except.push((position, value)),
    }
    Ok(())
}

fn dim_changed(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let Some(tensor) = any_input(case, draw, |t| !t.shape.is_empty())? else { return Ok(false) };
    let dim = draw.between(0, tensor.shape.len() - 1)?;
    let mut shape = tensor.shape.clone();
    shape[dim] = if draw.one_in(2)? { shape[dim] + 1 } else { shape[dim].saturating_sub(1) };
    let view = if shape.contains(&0) { View::default() } else { tensor.view.clone() };
    *tensor = resized(&viewed(tensor, view), shape);
    Ok(true)
}

fn dim_zero(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let Some(tensor) = any_input(case, draw, |t| !t.shape.is_empty())? else { return Ok(false) };
    let dim = draw.between(0, tensor.shape.len() - 1)?;
    let mut shape = tensor.shape.clone();
    shape[dim] = 0;
    *tensor = resized(&tensor.contiguous(), shape);
    Ok(true)
}

fn rank_raised(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let Some(tensor) = any_input(case, draw, |t| t.shape.len() < 6)? else { return Ok(false) };
    let dim = draw.between(0, tensor.shape.len())?;
    *tensor = tensor.contiguous();
    tensor.shape.insert(dim, 1);
    Ok(true)
}

fn rank_lowered(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let Some(tensor) = any_input(case, draw, |t| !t.shape.is_empty())? else { return Ok(false) };
    let dim = draw.between(0, tensor.shape.len() - 1)?;
    *tensor = without_dim(tensor, dim);
    Ok(true)
}

fn dtype_changed(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let dtype = *draw.choose(&DType::ALL)?;
    let Some(tensor) = any_input(case, draw, |t| t.dtype != dtype)? else { return Ok(false) };
    *tensor = cast(tensor, dtype);
    Ok(true)
}

fn param_extreme(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let Some(value) = any_number(case, draw)? else { return Ok(false) };
    *value = match *value {
        Value::Int(old) => Value::Int(*draw.choose(&[0, 0, old.saturating_add(1), 2, 3, 5, 1 << 32, i64::MAX])?),
        Value::Float(_) => Value::Float(*draw.choose(&[0.0, -1.0, 1e-30, 1e30, f64::INFINITY, f64::NAN, f64::MAX])?),
    };
    Ok(true)
}

/// `tensor` with another shape of the same rank: what exists in both keeps its value, the rest becomes 0.
pub fn resized(tensor: &Tensor, shape: Vec<usize>) -> Tensor {
    let old = tensor.stored_shape();
    let mut new = Tensor { shape, ..tensor.clone() };
    let (from, to) = (old, new.stored_shape());
    let (old_count, new_count) = (product(&from).unwrap_or(0), product(&to).unwrap_or(0));
    let kept = |position: usize| {
        // The position of an old element in the new shape, or `None` where it is cut off.
        let mut rest = position;
        let mut index = vec![0; from.len()];
        for dim in (0..from.len()).rev() {
            index[dim] = rest % from[dim];
            rest /= from[dim];
        }
        index.iter().zip(&to).try_fold(0, |flat, (&i, &n)| (i < n).then_some(flat * n + i))
    };
    new.values = match &tensor.values {
        Values::List(values) => {
            let zero = Value::of(tensor.dtype, 0.0);
            let mut list = vec![zero; new_count];
            for (position, &value) in values.iter().enumerate().take(old_count) {
                if let Some(place) = kept(position) {
                    list[place] = value;
                }
            }
            Values::List(list)
        }
        Values::Fill(fill) => {
            let mut fill = fill.clone();
            let move_to = |(position, value)| kept(position).map(|place| (place, value));
            fill.except = fill.except.into_iter().filter_map(move_to).collect();
            Values::Fill(fill)
        }
    };
    new
}

/// `tensor` with only the `count` entries from `start` on along `dim`.
pub fn sliced(tensor: &Tensor, dim: usize, start: usize, count: usize) -> Tensor {
    let mut shape = tensor.shape.clone();
    shape[dim] = count;
    if tensor.view.broadcasts(dim) {
        return Tensor { shape, ..tensor.clone() };
    }
    let stored = tensor.stored_shape();
    let (inner, size) = (product(&stored[dim + 1..]).unwrap_or(1), stored[dim]);
    // The place of an old element in the new tensor, if it stays.
    let moved = |position: usize| {
        let along = position / inner % size;
        let outer = position / inner / size;
        (start..start + count).contains(&along).then(|| (outer * count + along - start) * inner + position % inner)
    };
    let values = match &tensor.values {
        Values::List(values) => {
            Values::List(values.iter().enumerate().filter(|(p, _)| moved(*p).is_some()).map(|(_, &v)| v).collect())
        }
        Values::Fill(fill) => {
            let mut fill = fill.clone();
            fill.except = fill.except.into_iter().filter_map(|(p, v)| moved(p).map(|place| (place, v))).collect();
            Values::Fill(fill)
        }
    };
    Tensor { shape, values, ..tensor.clone() }
}

/// `tensor` without dimension `dim`, of which the first entry stays.
pub fn without_dim(tensor: &Tensor, dim: usize) -> Tensor {
    let mut shape = tensor.shape.clone();
    if shape[dim] > 1 {
        shape[dim] = 1;
    }
    let mut lowered = resized(tensor, shape);
    if tensor.shape[dim] == 0 {
        // Nothing is left to keep: an empty dimension leaves a tensor of zeros.
        lowered = resized(tensor, tensor.shape.iter().map(|&n| n.max(1)).collect());
    }
    lowered.shape.remove(dim);
    lowered.view = lowered.view.without(dim);
    lowered
}

/// `tensor` with its values rounded to `dtype`.
pub fn cast(tensor: &Tensor, dtype: DType) -> Tensor {
    let convert = |value: Value| match value {
        Value::Int(int) if !dtype.is_float() => {
            let (low, high) = dtype.int_range().unwrap_or((0, 0));
            Value::Int(int.clamp(low, high))
        }
        Value::Float(float) if float.is_nan() && dtype.is_float() => value,
        other => Value::of(dtype, other.as_f64()),
    };
    let values = match &tensor.values {
        Values::List(values) => Values::List(values.iter().map(|&value| convert(value)).collect()),
        Values::Fill(fill) => {
            let mut fill = fill.clone();
            fill.constant = convert(fill.constant);
            fill.except.iter_mut().for_each(|(_, value)| *value = convert(*value));
            Values::Fill(fill)
        }
    };
    Tensor { dtype, values, ..tensor.clone() }
}

/// `tensor` in another view of the same shape.
pub fn viewed(tensor: &Tensor, view: View) -> Tensor {
    if view.broadcast == tensor.view.broadcast {
        return Tensor { view, ..tensor.clone() };
    }
    // What is stored changes with the broadcast dimensions: keep the first entry of each, or repeat it.
    let expanded = Tensor { view: View::default(), values: Values::List(tensor.expanded()), ..tensor.clone() };
    let target = Tensor { view: view.clone(), ..expanded.clone() };
    let cut = resized(&expanded, target.stored_shape());
    Tensor { values: cut.values, ..target }
}
