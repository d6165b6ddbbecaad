//! Passes over steps, inputs, params and views.

use super::edit::with_input;
use crate::case::{Backward, Case, DeviceObject, PerStep, Repeat, Times};
use crate::ops::find;
use crate::tensor::{Value, View, viewed};

/// A sequence without one of its steps. If the first is removed, the next one takes those of its inputs that it has, too.
pub fn steps(case: &Case) -> Vec<Case> {
    let without = |skip: usize| {
        let mut calls = case.calls();
        let dropped = calls.remove(skip);
        if let Some(first) = calls.first_mut().filter(|_| skip == 0) {
            let takes = |name: &str| find(&first.op).is_some_and(|op| op.inputs.iter().any(|spec| spec.name == name));
            let taken: Vec<_> = dropped.inputs.into_iter().filter(|(name, _)| takes(name)).collect();
            for (name, tensor) in taken {
                first.inputs.entry(name).or_insert(tensor);
            }
        }
        case.with_calls(calls)
    };
    (0..case.steps.len()).map(without).collect()
}

/// All steps in the worker's own thread, or one of them there or in an earlier one.
pub fn threads(case: &Case) -> Vec<Case> {
    let with = |place: usize, thread: usize| {
        let mut case = case.clone();
        case.threads.set(place, thread);
        case
    };
    let threads = case.threads.values().iter().enumerate();
    let one = threads.flat_map(|(place, &thread)| (0..thread).map(move |earlier| with(place, earlier)));
    let none = Case { threads: PerStep::default(), ..case.clone() };
    std::iter::once(none).chain(one).collect()
}

/// All steps on the case's own device object, or one of them there or on a simpler one.
pub fn devices(case: &Case) -> Vec<Case> {
    let with = |place: usize, device: DeviceObject| {
        let mut case = case.clone();
        case.devices.set(place, device);
        case
    };
    let simpler =
        |device: DeviceObject| [DeviceObject::Own, DeviceObject::Again].into_iter().filter(move |it| *it < device);
    let devices = case.devices.values().iter().enumerate();
    let one = devices.flat_map(|(place, &device)| simpler(device).map(move |simpler| with(place, simpler)));
    let none = Case { devices: PerStep::default(), ..case.clone() };
    std::iter::once(none).chain(one).collect()
}

/// One step made once, or a round number of times.
pub fn times(case: &Case) -> Vec<Case> {
    let with = |place: usize, times: u32| {
        let mut case = case.clone();
        case.times.set(place, Times::new(times)?);
        Some(case)
    };
    let rounds = [1, 10, 100, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000];
    let times = case.times.values().iter().enumerate();
    let fewer = times.flat_map(|(place, &times)| {
        rounds.into_iter().filter(move |&round| round < times.get()).filter_map(move |round| with(place, round))
    });
    fewer.collect()
}

/// The call once, or as few times as are measured.
pub fn repeat(case: &Case) -> Vec<Case> {
    let fewer = [None, Some(Repeat::LEAST)].map(|repeat| Case { repeat, ..case.clone() });
    if case.repeat.is_some() { fewer.to_vec() } else { Vec::new() }
}

/// Without one input or param, which may be optional.
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

/// Contiguous inputs, views without one feature, and views with smaller margins.
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
            View { of: None, offset: 0, ..view.clone() },
            View { offset: 0, ..view.clone() },
            View { offset: view.offset / 2, ..view.clone() },
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

/// No backward pass, or the simpler one.
pub fn backward(case: &Case) -> Vec<Case> {
    [Backward::None, Backward::Sum].map(|backward| Case { backward, ..case.clone() }).to_vec()
}

/// Replaces one number of the params by 0, 1, 2 or half of it, and one size with 64 bits by one with fewer or by the largest.
pub fn params(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    for (name, index, value) in case.numbers() {
        let simpler: Vec<Value> = match value {
            // Steps of 1 only for small numbers, where they lead somewhere.
            Value::Int(value) if value.abs() <= 16 => [0, 1, 2, 3, value / 2, value - 1].map(Value::Int).to_vec(),
            Value::Int(value) => [0, 1, 2, 3, value / 2].map(Value::Int).to_vec(),
            Value::Float(_) => [0.0, 1.0, 0.5, 2.0].map(Value::Float).to_vec(),
        };
        candidates.extend(simpler.into_iter().map(|value| case.with_number(name, index, value)));
    }
    for (name, param) in &case.params {
        for (place, _) in param.leaves().into_iter().enumerate().filter(|(_, leaf)| leaf.is_huge()) {
            candidates.extend([0, 1, 2, 3, i64::MAX as usize, usize::MAX].map(|size| {
                let mut param = param.clone();
                *param.leaves_mut()[place] = size.into();
                case.clone().param(name, param)
            }));
        }
    }
    candidates
}
