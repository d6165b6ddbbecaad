//! A workaround as a change of the call that fails, so that a test can run what a person reads.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::case::{Case, Param};
use crate::ops;
use crate::tensor::{DType, cast};

/// The inputs of this name are all tensors, or all floats.
const ALL: &str = "*";

/// How to change a call that fails. Each part applies where the call has what it names.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instead {
    /// Inputs to copy first, so that they are contiguous in a buffer of their own.
    #[serde(default)]
    pub copy: Vec<String>,
    /// Inputs to convert first, and to which dtype.
    #[serde(default)]
    pub convert: BTreeMap<String, DType>,
    /// Ops, and which op to call in the place of each, with the same inputs.
    #[serde(default)]
    pub call: BTreeMap<String, String>,
    /// Params to give other values.
    #[serde(default)]
    pub set: BTreeMap<String, Param>,
}

impl Instead {
    /// The call to make in the place of `case`; `None` if it is the same.
    pub fn of(&self, case: &Case) -> Option<Case> {
        let mut changed = case.clone();
        for (name, tensor) in &mut changed.inputs {
            if self.copy.iter().any(|of| of == name || of == ALL) {
                *tensor = tensor.contiguous();
            }
            let all = self.convert.get(ALL).filter(|_| tensor.dtype.is_float());
            if let Some(dtype) = self.convert.get(name).or(all) {
                *tensor = cast(tensor, *dtype);
            }
        }
        for (name, value) in &mut changed.params {
            if let Some(other) = self.set.get(name) {
                value.clone_from(other);
            }
        }
        if let Some(op) = self.call.get(&case.op).and_then(|name| ops::find(name)) {
            changed.op = op.name.to_string();
            changed.params.retain(|name, _| op.params.iter().any(|param| param.name == name));
            let missing = op.params.iter().filter(|param| !changed.params.contains_key(param.name));
            let set = missing.filter_map(|param| Some((param.name.to_string(), self.set.get(param.name)?.clone())));
            let set: Vec<(String, Param)> = set.collect();
            changed.params.extend(set);
        }
        (changed != *case).then_some(changed)
    }

    /// The extra work of it, in words.
    pub fn cost(&self) -> String {
        let named = |names: Vec<&str>| match names[..] {
            [ALL] => "the inputs".to_string(),
            _ => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        };
        let copies = (!self.copy.is_empty())
            .then(|| format!("a copy of {}", named(self.copy.iter().map(String::as_str).collect())));
        let casts = (!self.convert.is_empty())
            .then(|| format!("a conversion of {}", named(self.convert.keys().map(String::as_str).collect())));
        let calls = (!self.call.is_empty()).then(|| "a slower function".to_string());
        copies.into_iter().chain(casts).chain(calls).collect::<Vec<_>>().join(", ")
    }
}
