//! A case: one call of one op, as plain data with a text form that people edit and a total order of complexity.

mod complexity;
mod param;
mod per_step;
mod repeat;
mod shared;
mod spec;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use complexity::Complexity;
pub use param::Param;
pub use per_step::{DeviceObject, PerStep, Times};
pub use repeat::Repeat;
pub use shared::Shared;
pub use spec::{Absent, InputSpec, Kind, Only, ParamSpec, Specs, nearest};

use crate::tensor::{DType, Tensor, Value};

/// One call of one op. It is complete: the same case on the same device has the same outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The op's name in the registry, such as `loss.cross_entropy`.
    pub op: String,
    /// The ops of a sequence, in order: the first output of each is the one input that the next one lacks. The other inputs and
    /// params of the n-th op, counted from 1, are named `n.name`. Empty for a single call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// The host thread of each step; 0 by default. A step and its inputs are made in its thread; thread 0 reads the outputs, and runs the
    /// backward pass.
    #[serde(default, skip_serializing_if = "PerStep::is_empty")]
    pub threads: PerStep<usize>,
    /// The device object of each step. Its inputs are made there, and the output of the step before is copied there.
    #[serde(default, skip_serializing_if = "PerStep::is_empty")]
    pub devices: PerStep<DeviceObject>,
    /// How often each step is made, each time on its own output; once by default. The first step has nothing to be made on again.
    #[serde(default, skip_serializing_if = "PerStep::is_empty")]
    pub times: PerStep<Times>,
    /// How many times the call is made, each time with inputs of its own, if more than once. The outputs are those of the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
    /// The backward pass, if any.
    #[serde(default, skip_serializing_if = "Backward::is_none")]
    pub backward: Backward,
    /// The arguments that are not tensors.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Param>,
    /// The tensor arguments by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Tensor>,
}

/// How many host threads there are besides thread 0.
pub const OTHER_THREADS: usize = 3;

/// What the backward pass starts from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backward {
    /// Forward only.
    #[default]
    None,
    /// The sum of all outputs: the op receives a gradient of ones, broadcast from a scalar.
    Sum,
    /// A sum weighted by [`weight`]: every element has its own weight, and the op receives a contiguous gradient.
    Weighted,
    /// Like [`Backward::Weighted`], then again from the gradient of the first input by name, weighted again: second derivatives.
    Twice,
}

impl Backward {
    /// Whether there is no backward pass.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// The weight of the `index`-th element under [`Backward::Weighted`] and [`Backward::Twice`]: small, exact in every float dtype, and
/// neither constant nor summing to zero.
pub fn weight(index: usize) -> f64 {
    [1.0, 2.0, -1.0, 3.0, -2.0, 0.5, 4.0][index % 7]
}

/// Why parsing failed.
#[derive(Debug, Error)]
pub enum CaseError {
    /// Not TOML, or not the fields of a case; the message has line and column.
    #[error("not a case: {0}")]
    Syntax(#[from] toml::de::Error),
    /// A tensor contradicts itself.
    #[error("not a case: input `{input}` {problem}")]
    Tensor {
        /// The input's name.
        input: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl Case {
    /// A case of `op` without params and inputs, forward only.
    pub fn new(op: &str) -> Self {
        Self { op: op.to_string(), ..Self::default() }
    }

    /// Adds an input.
    #[must_use]
    pub fn input(mut self, name: &str, tensor: Tensor) -> Self {
        self.inputs.insert(name.to_string(), tensor);
        self
    }

    /// Adds a param.
    #[must_use]
    pub fn param(mut self, name: &str, value: impl Into<Param>) -> Self {
        self.params.insert(name.to_string(), value.into());
        self
    }

    /// Adds the call `step` at the end of the sequence.
    #[must_use]
    pub fn then(mut self, step: Self) -> Self {
        let place = self.steps.len();
        self.threads.set(place, step.threads.at(0));
        self.devices.set(place, step.devices.at(0));
        self.times.set(place, step.times.at(0));
        self.steps.push(step.op);
        let prefix = |name: String| format!("{}.{name}", self.steps.len());
        let placed = |mut tensor: Tensor| {
            tensor.view.of = tensor.view.of.map(prefix);
            tensor
        };
        self.inputs.extend(step.inputs.into_iter().map(|(name, tensor)| (prefix(name), placed(tensor))));
        self.params.extend(step.params.into_iter().map(|(name, param)| (prefix(name), param)));
        self
    }

    /// The calls of a sequence, each with its own inputs, params, thread, device object and number of times.
    pub fn calls(&self) -> Vec<Self> {
        let call = |(place, op): (usize, &String)| {
            let prefix = format!("{}.", place + 1);
            let own = |name: &str| name.strip_prefix(&prefix).map(ToString::to_string);
            let mut call = Self {
                threads: vec![self.threads.at(place)].into(),
                devices: vec![self.devices.at(place)].into(),
                times: vec![self.times.at(place)].into(),
                ..Self::new(op)
            };
            let taken = |tensor: &Tensor| {
                let mut tensor = tensor.clone();
                tensor.view.of = tensor.view.of.and_then(|of| own(&of));
                tensor
            };
            call.inputs = self.inputs.iter().filter_map(|(name, tensor)| Some((own(name)?, taken(tensor)))).collect();
            call.params = self.params.iter().filter_map(|(name, p)| Some((own(name)?, p.clone()))).collect();
            call
        };
        self.steps.iter().enumerate().map(call).collect()
    }

    /// The sequence of `calls`, with everything else as in this one.
    #[must_use]
    pub fn with_calls(&self, calls: Vec<Self>) -> Self {
        let empty = Self { op: self.op.clone(), backward: self.backward, repeat: self.repeat, ..Self::default() };
        calls.into_iter().fold(empty, Self::then)
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Self, CaseError> {
        let mut case: Self = toml::from_str(text)?;
        case.inputs.values_mut().for_each(Tensor::normalize);
        case.check()?;
        Ok(case)
    }

    /// The text form; [`Case::parse`] gives back an equal case.
    pub fn to_text(&self) -> String {
        toml::to_string(self).expect("a case has no map keys that TOML cannot write")
    }

    /// Checks every tensor, and whether those that share a buffer can.
    pub fn check(&self) -> Result<(), CaseError> {
        let of = |input: &str, problem: String| CaseError::Tensor { input: input.to_string(), problem };
        self.inputs.iter().try_for_each(|(name, tensor)| tensor.check().map_err(|problem| of(name, problem)))?;
        self.check_shared().map_err(|(name, problem)| of(name, problem))
    }

    /// The same call with every input contiguous, in a buffer of its own.
    #[must_use]
    pub fn contiguous(&self) -> Self {
        let inputs = self.inputs.iter().map(|(name, tensor)| (name.clone(), tensor.contiguous())).collect();
        Self { inputs, ..self.clone() }
    }

    /// Whether every input is contiguous. Several may lie in one buffer.
    pub fn is_contiguous(&self) -> bool {
        self.inputs.values().all(|tensor| tensor.view.is_contiguous())
    }

    /// Whether every input is contiguous in a buffer of its own, as [`Self::contiguous`] makes it.
    pub fn is_plain(&self) -> bool {
        self.inputs.values().all(|tensor| tensor.view.is_plain())
    }

    /// The tensor of an input, if the case has it.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.inputs.get(name)
    }

    /// An integer param: 0 if it is missing.
    pub fn int(&self, name: &str) -> i64 {
        match self.params.get(name) {
            Some(Param::Number(value)) => value.as_i64(),
            _ => 0,
        }
    }

    /// A float param: 0 if it is missing.
    pub fn float(&self, name: &str) -> f64 {
        self.optional_float(name).unwrap_or(0.0)
    }

    /// A float param, if the case has it.
    pub fn optional_float(&self, name: &str) -> Option<f64> {
        match self.params.get(name) {
            Some(Param::Number(value)) => Some(value.as_f64()),
            _ => None,
        }
    }

    /// How many calls it makes at most of one step, or of its op.
    pub fn call_count(&self) -> u64 {
        let times = self.times.values().iter().map(|times| times.get()).max().unwrap_or(1);
        u64::from(self.repeat.map_or(1, Repeat::times)) * u64::from(times)
    }

    /// A param as candle's `usize`, if the case has it: 0 if it is negative.
    pub fn optional_size(&self, name: &str) -> Option<usize> {
        self.params.get(name).map(|param| param.size().unwrap_or(0))
    }

    /// A param as candle's `usize`: 0 if it is missing or negative.
    pub fn size(&self, name: &str) -> usize {
        self.optional_size(name).unwrap_or(0)
    }

    /// A list of sizes: empty if it is missing, and 0 for each item that is not a size.
    pub fn sizes(&self, name: &str) -> Vec<usize> {
        let size = |item: &Param| item.size().unwrap_or(0);
        self.params.get(name).map(|list| list.items().iter().map(size).collect()).unwrap_or_default()
    }

    /// A list of texts: empty if it is missing, and the empty text for each item that is not a text.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        let items = self.params.get(name).map(Param::items).unwrap_or_default();
        items.iter().map(|item| if let Param::Text(text) = item { text.as_str() } else { "" }).collect()
    }

    /// Every number among the params: the param's name, and its place if the param is a list.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, usize, Value)> {
        self.params.iter().flat_map(|(name, param)| {
            param.numbers().into_iter().enumerate().map(move |(place, value)| (name.as_str(), place, value))
        })
    }

    /// The case with another number at this place of the param `name`.
    #[must_use]
    pub fn with_number(&self, name: &str, place: usize, value: Value) -> Self {
        let mut case = self.clone();
        if let Some(number) = case.params.get_mut(name).and_then(|param| param.numbers_mut().into_iter().nth(place)) {
            *number = value;
        }
        case
    }

    /// Whether an input or a param names this dtype.
    pub fn has_dtype(&self, dtype: DType) -> bool {
        let named = |param: &Param| matches!(param, Param::Text(name) if name == dtype.name());
        self.inputs.values().any(|tensor| tensor.dtype == dtype) || self.params.values().any(named)
    }

    /// A text param, or the empty text if it is missing.
    pub fn text(&self, name: &str) -> &str {
        match self.params.get(name) {
            Some(Param::Text(text)) => text,
            _ => "",
        }
    }
}
