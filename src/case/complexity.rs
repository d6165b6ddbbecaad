//! The order of cases from simple to complex, which the minimizer descends.

use super::{Backward, Case, DeviceObject, Param, PerStep, Repeat};
use crate::tensor::{Tensor, Value};

/// See [`Case::complexity`]. Compared field by field.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Complexity {
    steps: usize,
    /// How many steps are made in other threads, and in which.
    threads: (usize, PerStep<usize>),
    /// How many are made on other device objects, and on which.
    devices: (usize, PerStep<DeviceObject>),
    /// How many times all steps are made.
    times: u64,
    repeat: Option<Repeat>,
    elements: u128,
    dims: usize,
    absent: usize,
    views: usize,
    dtypes: Vec<u8>,
    backward: Backward,
    params: Vec<(u8, u64, bool)>,
    spelled: usize,
    values: Vec<Vec<(u8, u64, bool)>>,
}

impl Case {
    /// The complexity of this case, which the minimizer reduces: steps, threads, device objects, repetitions and shapes first, then views, dtypes, the backward pass,
    /// params, and values.
    pub fn complexity(&self) -> Complexity {
        let mut complexity = Complexity::default();
        for tensor in self.inputs.values() {
            // An empty tensor is a worse example than a small one: a size of 0 counts as 3.
            let sizes = tensor.shape.iter().map(|&n| if n == 0 { 3 } else { n as u128 });
            complexity.elements += sizes.clone().sum::<u128>() + sizes.fold(1, u128::saturating_mul);
            complexity.dims += tensor.shape.len();
            complexity.views += view_weight(tensor);
            complexity.dtypes.push(tensor.dtype as u8);
            complexity.spelled += tensor.values.spelled();
            complexity.values.push(value_weight(tensor));
        }
        complexity.steps = self.steps.len();
        complexity.threads = (self.threads.others().count(), self.threads.clone());
        complexity.devices = (self.devices.others().count(), self.devices.clone());
        complexity.times = self.times.others().map(|times| u64::from(times.get()) - 1).sum();
        complexity.repeat = self.repeat;
        complexity.backward = self.backward;
        complexity.params = self.params.values().flat_map(param_weights).collect();
        let items: usize = self.params.values().map(|param| param.items().len()).sum();
        complexity.absent = self.inputs.len() + self.params.len() + items;
        complexity
    }
}

fn view_weight(tensor: &Tensor) -> usize {
    let view = &tensor.view;
    let lists = [&view.before, &view.after].map(|list| list.iter().map(|&n| n.min(99)).sum::<usize>());
    let steps: usize = view.step.iter().map(|&n| n.min(99) - 1).sum();
    let shared = view.of.as_ref().map_or(0, |_| 1 + view.offset.min(99));
    lists.iter().sum::<usize>() + steps + usize::from(!view.order.is_empty()) + view.broadcast.len() + shared
}

fn value_weight(tensor: &Tensor) -> Vec<(u8, u64, bool)> {
    tensor.values.listed().into_iter().map(Value::simplicity).collect()
}

fn param_weights(param: &Param) -> Vec<(u8, u64, bool)> {
    match param {
        Param::Number(value) => vec![value.simplicity()],
        // After all integers.
        Param::Text(_) => vec![param.size().map_or((0, 0, false), |size| (2, size as u64, false))],
        Param::List(items) => items.iter().flat_map(param_weights).collect(),
    }
}
