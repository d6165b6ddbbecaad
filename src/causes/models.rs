//! Which models of candle-transformers use the functions of candle that a cause is about, by their source.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::ops::Op;

/// The functions that each model uses, made by `cargo xtask models`: `.gather` is a method, `rope` a function, `Linear` a type.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Models(BTreeMap<String, BTreeSet<String>>);

impl Models {
    /// The models that use a function of one of `ops`.
    pub fn using<'a>(&self, ops: impl IntoIterator<Item = &'a Op>) -> Vec<String> {
        let names: BTreeSet<String> = ops.into_iter().flat_map(|op| op.covers).map(|covered| name(covered)).collect();
        let users = self.0.iter().filter(|(_, used)| !used.is_disjoint(&names));
        users.map(|(model, _)| model.clone()).collect()
    }
}

/// The name in the table of what an op covers: `Tensor::gather`, `ops::softmax`, `LayerNorm::new`.
fn name(covered: &str) -> String {
    match covered.rsplit_once("::") {
        Some(("Tensor", method)) => format!(".{method}"),
        Some((of, _)) if of.starts_with(char::is_uppercase) => of.to_string(),
        Some((_, name)) => name.to_string(),
        None => covered.to_string(),
    }
}
