//! Slopes of a call by finite differences: what gradients are compared with where nobody has written a reference.

use std::collections::BTreeMap;

use super::Worker;
use crate::case::{Backward, Case, weight};
use crate::ops::{Op, own};
use crate::outcome::{Outcome, Returned, Slope};
use crate::tensor::{Value, Values};

/// The most elements, over all inputs and evenly spread, that get a slope. Each takes four calls.
const MOST: usize = 48;
/// Inputs with more elements than this get no slopes, because every call would list all of their elements.
const LARGE: usize = 4096;
/// The first step, as a share of the element or of 1.
const STEP: f64 = 1.0 / 4096.0;

/// The slopes of `case`, an op that a program defines, at some elements of each input with a gradient. Where a call fails in `f64`, or
/// the function has a kink or a jump, there is none.
pub fn slopes(worker: &mut Worker, op: &Op, case: &Case) -> anyhow::Result<BTreeMap<String, Vec<Slope>>> {
    let wide = own::in_f64(case);
    let names: Vec<&String> = wide.inputs.keys().filter(|name| op.has_gradient(case, name)).collect();
    let mut slopes = BTreeMap::new();
    let Some(middle) = sum(worker, &wide, case.backward)? else { return Ok(slopes) };
    for &name in &names {
        let stored = wide.inputs[name].stored().unwrap_or(usize::MAX);
        if stored > LARGE {
            continue;
        }
        let count = stored.min((MOST / names.len()).max(1));
        let mut own = Vec::new();
        for element in (0..count).map(|place| place * stored / count) {
            own.extend(slope(worker, &wide, case.backward, (name, element, stored), middle)?);
        }
        slopes.insert(name.clone(), own);
    }
    Ok(slopes)
}

/// The slope at one element, from two steps to each side.
fn slope(
    worker: &mut Worker,
    wide: &Case,
    backward: Backward,
    (name, element, stored): (&str, usize, usize),
    middle: f64,
) -> anyhow::Result<Option<Slope>> {
    let values = wide.inputs[name].values.to_vec(stored);
    let at = values[element].as_f64();
    if !at.is_finite() {
        return Ok(None);
    }
    let mut sum_at = |step: f64| {
        let mut moved = wide.clone();
        let mut values = values.clone();
        values[element] = Value::Float(at + step);
        moved.inputs.get_mut(name).expect("an input of the case").values = Values::List(values);
        sum(worker, &moved, backward)
    };
    let mut sides = Vec::new();
    // A power of two, so that adding it to the element rounds as little as possible.
    let step = (STEP * at.abs().max(1.0)).log2().floor().exp2();
    for step in [step, step / 2.0] {
        let (Some(above), Some(below)) = (sum_at(step)?, sum_at(-step)?) else { return Ok(None) };
        sides.push(((above - middle) / step, (middle - below) / step));
    }
    let [(right, left), (near_right, near_left)] = sides[..] else { return Ok(None) };
    let (wide_slope, near_slope) = (f64::midpoint(right, left), f64::midpoint(near_right, near_left));
    // Of a smooth function the slopes of both sides come together as the step shrinks.
    let noise = middle.abs().max(1.0) * 1e-12 / step;
    let (gap, near_gap) = ((right - left).abs(), (near_right - near_left).abs());
    let has_kink = near_gap > 0.75 * gap && near_gap > noise;
    // Richardson's extrapolation, and how much it changes.
    let value = (4.0 * near_slope - wide_slope) / 3.0;
    let error = 2.0 * (near_slope - wide_slope).abs() + noise;
    Ok((!has_kink && value.is_finite()).then_some(Slope { element, value, error }))
}

/// The sum of all outputs, weighted as the backward pass weights them; `None` unless the call returns finite numbers.
fn sum(worker: &mut Worker, case: &Case, backward: Backward) -> anyhow::Result<Option<f64>> {
    let Outcome::Returned(Returned { outputs, .. }) = worker.run_once(case)? else { return Ok(None) };
    let sums = outputs.iter().map(|output| {
        let is_weighted = backward != Backward::Sum && !output.shape.is_empty();
        let share = |place: usize| if is_weighted { weight(place) } else { 1.0 };
        output.floats().into_iter().enumerate().map(|(place, value)| value * share(place)).sum::<f64>()
    });
    let sum: f64 = sums.sum();
    Ok(sum.is_finite().then_some(sum))
}
