//! Labelled violations: small edits that move a case out of its op's contract, or to its edge. Knows tensors, not ops.

use arbitrary::Result;

use super::Draw;
use crate::case::{Case, Param};
use crate::tensor::{DType, Tensor, Value, Values, View, cast, resized, viewed, without_dim};

/// One kind of edit.
#[derive(Debug)]
pub struct Mutation {
    /// The label in statistics.
    pub name: &'static str,
    /// Edits the case; false if the case has nothing to edit in this way.
    pub apply: fn(&mut Case, &mut Draw) -> Result<bool>,
}

/// Every labelled violation. Bad ids and params are the most common in bug reports, so they are drawn twice as often.
pub static VIOLATIONS: &[Mutation] = &[
    Mutation { name: "id out of range", apply: id_out_of_range },
    Mutation { name: "id out of range", apply: id_out_of_range },
    Mutation { name: "dim changed", apply: dim_changed },
    Mutation { name: "dim zero", apply: dim_zero },
    Mutation { name: "rank raised", apply: rank_raised },
    Mutation { name: "rank lowered", apply: rank_lowered },
    Mutation { name: "dtype changed", apply: dtype_changed },
    Mutation { name: "extreme param", apply: extreme_param },
    Mutation { name: "extreme param", apply: extreme_param },
    Mutation { name: "edge value", apply: edge_value },
];

/// A random input that passes `filter`; `None` if there is none.
pub(super) fn any_input<'a>(
    case: &'a mut Case,
    draw: &mut Draw,
    filter: impl Fn(&Tensor) -> bool,
) -> Result<Option<&'a mut Tensor>> {
    let names: Vec<String> = case.inputs.iter().filter(|(_, t)| filter(t)).map(|(name, _)| name.clone()).collect();
    if names.is_empty() {
        return Ok(None);
    }
    let name = draw.choose(&names)?;
    Ok(case.inputs.get_mut(name))
}

/// A random number of a random param; `None` if there are no params or the drawn one has no number.
pub(super) fn any_number<'a>(case: &'a mut Case, draw: &mut Draw) -> Result<Option<(&'a mut Param, Value)>> {
    let names: Vec<String> = case.params.keys().cloned().collect();
    if names.is_empty() {
        return Ok(None);
    }
    let Some(param) = case.params.get_mut(draw.choose(&names)?) else { return Ok(None) };
    let number = |leaf: &'a mut Param| if let Param::Number(value) = *leaf { Some((leaf, value)) } else { None };
    let mut numbers: Vec<_> = param.leaves_mut().into_iter().filter_map(number).collect();
    if numbers.is_empty() {
        return Ok(None);
    }
    let place = if numbers.len() == 1 { 0 } else { draw.between(0, numbers.len() - 1)? };
    Ok(Some(numbers.swap_remove(place)))
}

/// Ids that are common in bug reports, and ids around every dimension of the case's tensors.
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

fn edge_value(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let Some(tensor) = any_input(case, draw, |t| t.stored().is_some_and(|n| n > 0))? else { return Ok(false) };
    let value = draw.edge_value(tensor.dtype)?;
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

/// Numbers at the ends of `usize`, `i64` and, once they are clamped to what the param may be, `i32`; and numbers that wrap in 32 bits.
fn extreme_param(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let Some((param, value)) = any_number(case, draw)? else { return Ok(false) };
    *param = match value {
        Value::Int(old) => {
            let integers =
                [0, 0, old.saturating_add(1), 2, 3, 5, 1 << 31, 1 << 32, i64::MAX, i64::MIN, -1].map(Param::from);
            let sizes = [usize::MAX, usize::MAX - 1].map(Param::from);
            draw.choose(&[&integers[..], &sizes[..]].concat())?.clone()
        }
        Value::Float(_) => Param::from(*draw.choose(&[0.0, -1.0, 1e-30, 1e30, f64::INFINITY, f64::NAN, f64::MAX])?),
    };
    Ok(true)
}
