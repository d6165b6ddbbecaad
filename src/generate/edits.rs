//! Edits that keep a case plausible: dependent sizes together, views, dtypes, values, params, and parts of another case.
//! Fuzzers mutate with these and with the labelled violations.

use std::collections::BTreeSet;

use arbitrary::Result;

use super::Draw;
use super::sharing::shared_buffer;
use super::violations::{Mutation, any_input, any_number};
use crate::case::{Backward, Case, DeviceObject, OTHER_THREADS, Param};
use crate::tensor::{DType, Value, product};
use crate::tensor::{cast, resized, viewed};

/// The most elements that an edit gives a tensor: as many as generators draw.
const LARGEST: usize = 140_000;

/// Every edit.
pub static EDITS: &[Mutation] = &[
    Mutation { name: "size everywhere", apply: size_everywhere },
    Mutation { name: "size of one", apply: size_of_one },
    Mutation { name: "view", apply: view },
    Mutation { name: "shared buffer", apply: shared_buffer },
    Mutation { name: "shared dtype", apply: shared_dtype },
    Mutation { name: "values", apply: values },
    Mutation { name: "ids", apply: ids },
    Mutation { name: "param nudged", apply: param_nudged },
    Mutation { name: "thread", apply: thread },
    Mutation { name: "device", apply: device },
    Mutation { name: "times", apply: times },
    Mutation { name: "backward", apply: backward },
];

/// The case with sizes replaced by `pairs` of old and new, in all dimensions and in all params above 1: dimensions that belong
/// together usually have the same size.
pub fn with_sizes(case: &Case, pairs: &[(usize, usize)]) -> Case {
    let new = |n: usize| pairs.iter().find(|(from, _)| *from == n).map_or(n, |(_, to)| *to);
    let mut case = case.clone();
    for tensor in case.inputs.values_mut() {
        *tensor = resized(tensor, tensor.shape.iter().map(|&n| new(n)).collect());
    }
    for value in case.params.values_mut().flat_map(Param::numbers_mut) {
        if let Some((_, to)) = pairs.iter().find(|(from, _)| *from > 1 && *value == Value::Int(*from as i64)) {
            *value = Value::Int(*to as i64);
        }
    }
    case
}

/// `case` with a random choice of inputs and params of the same names from `other`; for sequences, its first steps and the last
/// steps of `other`.
pub fn spliced(case: &Case, other: &Case, draw: &mut Draw) -> Result<Case> {
    let mut spliced = case.clone();
    if !case.steps.is_empty() && !other.steps.is_empty() && draw.one_in(2)? {
        let mut calls = case.calls();
        calls.truncate(draw.between(1, calls.len())?);
        calls.extend(other.calls().into_iter().skip(draw.between(1, other.steps.len())?));
        return Ok(case.with_calls(calls));
    }
    for (name, tensor) in &mut spliced.inputs {
        if let Some(theirs) = other.inputs.get(name).filter(|_| draw.one_in(2).unwrap_or(false)) {
            *tensor = theirs.clone();
        }
    }
    // A text such as a form has a meaning only for its own op: another op's text would make the call invalid.
    let alike = (&case.op, &case.steps) == (&other.op, &other.steps);
    let theirs = |name: &str| other.params.get(name).filter(|theirs| alike || !matches!(theirs, Param::Text(_)));
    for (name, value) in &mut spliced.params {
        if let Some(theirs) = theirs(name).filter(|_| draw.one_in(2).unwrap_or(false)) {
            *value = theirs.clone();
        }
    }
    spliced.repair_shared();
    Ok(spliced)
}

fn affordable(shape: &[usize]) -> bool {
    product(shape).is_some_and(|elements| elements <= LARGEST)
}

fn size_everywhere(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let sizes: BTreeSet<usize> = case.inputs.values().flat_map(|tensor| tensor.shape.clone()).collect();
    let sizes: Vec<usize> = sizes.into_iter().collect();
    if sizes.is_empty() {
        return Ok(false);
    }
    let (from, to) = (*draw.choose(&sizes)?, draw.size()?);
    let grown = |&n: &usize| if n == from { to } else { n };
    let fits = |shape: &[usize]| affordable(&shape.iter().map(grown).collect::<Vec<_>>());
    if from == to || !case.inputs.values().all(|tensor| fits(&tensor.shape)) {
        return Ok(false);
    }
    *case = with_sizes(case, &[(from, to)]);
    Ok(true)
}

fn size_of_one(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let Some(tensor) = any_input(case, draw, |t| !t.shape.is_empty())? else { return Ok(false) };
    let mut shape = tensor.shape.clone();
    let dim = draw.between(0, shape.len() - 1)?;
    shape[dim] = draw.size()?;
    if !affordable(&shape) {
        return Ok(false);
    }
    *tensor = resized(tensor, shape);
    Ok(true)
}

fn view(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let Some(tensor) = any_input(case, draw, |t| !t.shape.is_empty())? else { return Ok(false) };
    let view = draw.view(&tensor.shape)?;
    *tensor = viewed(tensor, view);
    Ok(true)
}

fn shared_dtype(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let Some(from) = any_input(case, draw, |_| true)?.map(|tensor| tensor.dtype) else { return Ok(false) };
    let to = *draw.choose(&DType::ALL)?;
    for tensor in case.inputs.values_mut().filter(|tensor| tensor.dtype == from) {
        *tensor = cast(tensor, to);
    }
    for value in case.params.values_mut().filter(|value| **value == Param::from(from.name())) {
        *value = Param::from(to.name());
    }
    Ok(from != to)
}

fn values(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let Some(tensor) = any_input(case, draw, |t| t.stored().is_some_and(|n| n > 0))? else { return Ok(false) };
    *tensor = draw.tensor_in(tensor.dtype, &tensor.shape.clone(), tensor.view.clone())?;
    Ok(true)
}

/// Integers below one of the case's sizes: labels and ids that fit somewhere.
fn ids(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let sizes: Vec<usize> = case.inputs.values().flat_map(|tensor| tensor.shape.clone()).collect();
    let Some(tensor) = any_input(case, draw, |t| !t.dtype.is_float())? else { return Ok(false) };
    if sizes.is_empty() {
        return Ok(false);
    }
    let bound = *draw.choose(&sizes)?;
    *tensor = draw.ids(tensor.dtype, &tensor.shape.clone(), bound)?;
    Ok(true)
}

fn param_nudged(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let Some((param, value)) = any_number(case, draw)? else { return Ok(false) };
    *param = match value {
        Value::Int(old) => Param::from(*draw.choose(&[0, 1, 2, 3, old.saturating_add(1), old.saturating_sub(1)])?),
        Value::Float(old) => Param::from(*draw.choose(&[0.0, 1.0, 0.5, 2.0, -1.0, 1e-5, -old, 2.0 * old])?),
    };
    Ok(true)
}

/// A step in another host thread.
fn thread(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    if case.steps.is_empty() {
        return Ok(false);
    }
    let (place, thread) = (draw.between(0, case.steps.len() - 1)?, draw.between(0, OTHER_THREADS)?);
    let old = case.threads.at(place);
    case.threads.set(place, thread);
    Ok(thread != old)
}

/// A step on another device object.
fn device(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let Some(place) = case.steps.len().checked_sub(1) else { return Ok(false) };
    let place = draw.between(0, place)?;
    let names_another = DeviceObject::another(case.text(&format!("{}.to", place + 1))).is_some();
    let device = if names_another { DeviceObject::Own } else { *draw.choose(&DeviceObject::ALL)? };
    let old = case.devices.at(place);
    case.devices.set(place, device);
    Ok(device != old)
}

/// A step made several times.
fn times(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let Some(last) = case.steps.len().checked_sub(1).filter(|last| *last > 0) else { return Ok(false) };
    let (place, times) = (draw.between(1, last)?, draw.times()?);
    let old = case.times.at(place);
    case.times.set(place, times);
    Ok(times != old)
}

fn backward(case: &mut Case, draw: &mut Draw) -> Result<bool> {
    let old = case.backward;
    case.backward = *draw.choose(&[Backward::None, Backward::Sum, Backward::Weighted, Backward::Twice])?;
    Ok(case.backward != old)
}
