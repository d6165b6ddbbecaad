//! A workaround as a change of the call that fails, so that a test can run what a person reads.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::case::{Case, Param};
use crate::ops;
use crate::tensor::{DType, cast};

/// Stands for all inputs, and among inputs to convert for all floats.
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
        }
        (changed != *case).then_some(changed)
    }

    /// The extra work of it, in words.
    pub fn cost(&self) -> String {
        let named = |name: &String| if name == ALL { "the inputs".to_string() } else { format!("`{name}`") };
        let copies = self.copy.iter().map(|name| format!("a copy of {}", named(name)));
        let conversions = self.convert.keys().map(|name| format!("a conversion of {}", named(name)));
        let calls = self.call.first_key_value().map(|_| "a slower function".to_string());
        let settings = self.set.keys().map(|name| format!("another {name}"));
        copies.chain(conversions).chain(calls).chain(settings).collect::<Vec<_>>().join(", ")
    }
}
