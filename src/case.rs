//! A case: one call of one op, as plain data with a text form that people edit and a total order of complexity.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::tensor::{Tensor, Value};

/// One call of one op. A case decides everything: same case, same device, same outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The op's name in the registry, such as `loss.cross_entropy`.
    pub op: String,
    /// The ops of a sequence, in order: each takes the first output of the one before as its main input. The other
    /// inputs and params of the n-th, from 1, are named `n.name`. Empty for a single call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// Whether gradients are asked for, and of what.
    #[serde(default, skip_serializing_if = "Backward::is_none")]
    pub backward: Backward,
    /// The arguments that are no tensors.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Param>,
    /// The tensor arguments by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Tensor>,
}

/// What the backward pass starts from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backward {
    /// Forward only.
    #[default]
    None,
    /// The sum of all outputs: what reaches the op is a gradient of ones, broadcast from a scalar.
    Sum,
    /// A sum weighted by [`weight`]: every output has its own share, and the op's gradient is contiguous.
    Weighted,
    /// The same, and then once more from the gradient of the first input by name, weighted again: second derivatives.
    Twice,
}

impl Backward {
    /// Whether no gradients are asked for.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// The weight of the `index`-th element under [`Backward::Weighted`] and [`Backward::Twice`]: small, exact in every float dtype, and
/// neither constant nor summing to zero.
pub fn weight(index: usize) -> f64 {
    [1.0, 2.0, -1.0, 3.0, -2.0, 0.5, 4.0][index % 7]
}

/// An argument that is not a tensor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum Param {
    Number(Value),
    Text(String),
    List(Vec<Param>),
}

impl Param {
    /// The number, or all numbers of a list.
    pub fn numbers(&self) -> Vec<Value> {
        match self {
            Self::Number(value) => vec![*value],
            Self::Text(_) => Vec::new(),
            Self::List(items) => items.iter().flat_map(Self::numbers).collect(),
        }
    }

    /// The number, or all numbers of a list, to change.
    pub fn numbers_mut(&mut self) -> Vec<&mut Value> {
        match self {
            Self::Number(value) => vec![value],
            Self::Text(_) => Vec::new(),
            Self::List(items) => items.iter_mut().flat_map(Self::numbers_mut).collect(),
        }
    }

    /// The items of a list; none of anything else.
    pub fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            Self::Number(_) | Self::Text(_) => &[],
        }
    }
}

impl<T: Into<Self>> From<Vec<T>> for Param {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl From<i64> for Param {
    fn from(value: i64) -> Self {
        Self::Number(Value::Int(value))
    }
}

impl From<usize> for Param {
    fn from(value: usize) -> Self {
        Self::Number(Value::Int(i64::try_from(value).unwrap_or(i64::MAX)))
    }
}

impl From<f64> for Param {
    fn from(value: f64) -> Self {
        Self::Number(Value::Float(value))
    }
}

impl From<&str> for Param {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

/// Why a text is no case.
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

    /// The case with an input more.
    #[must_use]
    pub fn input(mut self, name: &str, tensor: Tensor) -> Self {
        self.inputs.insert(name.to_string(), tensor);
        self
    }

    /// The case with a param more.
    #[must_use]
    pub fn param(mut self, name: &str, value: impl Into<Param>) -> Self {
        self.params.insert(name.to_string(), value.into());
        self
    }

    /// The case as a sequence with the call `step` at its end.
    #[must_use]
    pub fn then(mut self, step: Self) -> Self {
        self.steps.push(step.op);
        let prefix = |name: String| format!("{}.{name}", self.steps.len());
        self.inputs.extend(step.inputs.into_iter().map(|(name, tensor)| (prefix(name), tensor)));
        self.params.extend(step.params.into_iter().map(|(name, param)| (prefix(name), param)));
        self
    }

    /// The calls of a sequence, each with its own inputs and params.
    pub fn calls(&self) -> Vec<Self> {
        let call = |(place, op): (usize, &String)| {
            let prefix = format!("{}.", place + 1);
            let own = |name: &str| name.strip_prefix(&prefix).map(ToString::to_string);
            let mut call = Self::new(op);
            call.inputs = self.inputs.iter().filter_map(|(name, t)| Some((own(name)?, t.clone()))).collect();
            call.params = self.params.iter().filter_map(|(name, p)| Some((own(name)?, p.clone()))).collect();
            call
        };
        self.steps.iter().enumerate().map(call).collect()
    }

    /// The sequence of `calls`, with everything else as in this one.
    #[must_use]
    pub fn with_calls(&self, calls: Vec<Self>) -> Self {
        let empty = Self { op: self.op.clone(), backward: self.backward, ..Self::default() };
        calls.into_iter().fold(empty, Self::then)
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Self, CaseError> {
        let case: Self = toml::from_str(text)?;
        case.check()?;
        Ok(case)
    }

    /// The text form; [`Case::parse`] gives back an equal case.
    pub fn to_text(&self) -> String {
        toml::to_string(self).expect("a case has no map keys that TOML cannot write")
    }

    /// Whether every tensor is one.
    pub fn check(&self) -> Result<(), CaseError> {
        self.inputs.iter().try_for_each(|(name, tensor)| {
            tensor.check().map_err(|problem| CaseError::Tensor { input: name.clone(), problem })
        })
    }

    /// The same call with every input contiguous.
    #[must_use]
    pub fn contiguous(&self) -> Self {
        let inputs = self.inputs.iter().map(|(name, tensor)| (name.clone(), tensor.contiguous())).collect();
        Self { inputs, ..self.clone() }
    }

    /// Whether every input is contiguous.
    pub fn is_contiguous(&self) -> bool {
        self.inputs.values().all(|tensor| tensor.view.is_contiguous())
    }

    /// The tensor of an input that the op may do without.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.inputs.get(name)
    }

    /// An integer param, or `default` where the case leaves it out.
    pub fn int(&self, name: &str, default: i64) -> i64 {
        match self.params.get(name) {
            Some(Param::Number(value)) => value.as_i64(),
            _ => default,
        }
    }

    /// A float param, or `default` where the case leaves it out.
    pub fn float(&self, name: &str, default: f64) -> f64 {
        match self.params.get(name) {
            Some(Param::Number(value)) => value.as_f64(),
            _ => default,
        }
    }

    /// A param as candle's `usize`: 0 where the case leaves it out, or where it is negative.
    pub fn size(&self, name: &str) -> usize {
        usize::try_from(self.int(name, 0)).unwrap_or(0)
    }

    /// A list of sizes: empty where the case leaves it out, and 0 for each item that is not a size.
    pub fn sizes(&self, name: &str) -> Vec<usize> {
        let size = |item: &Param| match item {
            Param::Number(value) => usize::try_from(value.as_i64()).unwrap_or(0),
            Param::Text(_) | Param::List(_) => 0,
        };
        self.params.get(name).map(|list| list.items().iter().map(size).collect()).unwrap_or_default()
    }

    /// A list of texts: empty where the case leaves it out, and the empty text for each item that is not one.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        let items = self.params.get(name).map(Param::items).unwrap_or_default();
        items.iter().map(|item| if let Param::Text(text) = item { text.as_str() } else { "" }).collect()
    }

    /// A text param, or the empty text.
    pub fn text(&self, name: &str) -> &str {
        match self.params.get(name) {
            Some(Param::Text(text)) => text,
            _ => "",
        }
    }

    /// The place of this case in the order from simple to complex, in which the minimizer goes down: shapes first, then
    /// views, dtypes, the backward pass, params, and values.
    pub fn complexity(&self) -> Complexity {
        let mut complexity = Complexity::default();
        for tensor in self.inputs.values() {
            // A tensor without elements shows less than one with a few: 0 counts as 3.
            let sizes = tensor.shape.iter().map(|&n| if n == 0 { 3 } else { n as u128 });
            complexity.elements += sizes.clone().sum::<u128>() + sizes.fold(1, u128::saturating_mul);
            complexity.dims += tensor.shape.len();
            complexity.views += view_weight(tensor);
            complexity.dtypes.push(tensor.dtype as u8);
            complexity.spelled += tensor.values.spelled();
            complexity.values.push(value_weight(tensor));
        }
        complexity.steps = self.steps.len();
        complexity.backward = self.backward;
        complexity.params = self.params.values().flat_map(param_weights).collect();
        let items: usize = self.params.values().map(|param| param.items().len()).sum();
        complexity.absent = self.inputs.len() + self.params.len() + items;
        complexity
    }
}

/// See [`Case::complexity`]. Compared field by field.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Complexity {
    steps: usize,
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

fn view_weight(tensor: &Tensor) -> usize {
    let view = &tensor.view;
    let lists = [&view.before, &view.after].map(|list| list.iter().map(|&n| n.min(99)).sum::<usize>());
    let steps: usize = view.step.iter().map(|&n| n.min(99) - 1).sum();
    lists.iter().sum::<usize>() + steps + usize::from(!view.order.is_empty()) + view.broadcast.len()
}

fn value_weight(tensor: &Tensor) -> Vec<(u8, u64, bool)> {
    tensor.values.listed().into_iter().map(Value::simplicity).collect()
}

fn param_weights(param: &Param) -> Vec<(u8, u64, bool)> {
    match param {
        Param::Number(value) => vec![value.simplicity()],
        Param::Text(_) => vec![(0, 0, false)],
        Param::List(items) => items.iter().flat_map(param_weights).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::DType;

    #[test]
    fn a_typing_error_is_named_with_its_line() {
        let error = Case::parse("op = \"loss.nll\"\nbakward = \"sum\"\n").unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("bakward"), "{error}");
    }

    #[test]
    fn special_values_survive_the_text() {
        let values = [f64::NAN, f64::INFINITY, -0.0, 5e-324, 0.1].map(Value::Float).to_vec();
        let case = Case::new("x").input("a", Tensor::new(DType::F64, vec![5], values)).param("p", 1e-5);
        assert_eq!(Case::parse(&case.to_text()).unwrap(), case);
    }
}
