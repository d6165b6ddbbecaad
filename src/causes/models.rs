//! Which models of candle-transformers use the functions of candle that a cause is about, by their source.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// The functions that each model uses, made by `cargo xtask models`: `.gather` is a method, `rope` a function, `Linear` a type, and
/// `QTensor::new` makes one.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Models(BTreeMap<String, BTreeSet<String>>);

impl Models {
    /// The models that use one of these functions, as the table of an op calls them.
    pub fn using<'a>(&self, covered: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let names: BTreeSet<String> = covered.into_iter().flat_map(names).collect();
        let users = self.0.iter().filter(|(_, used)| !used.is_disjoint(&names));
        users.map(|(model, _)| model.clone()).collect()
    }
}

/// The names in the table of what an op covers: `Tensor::gather`, `ops::softmax`, `LayerNorm::new`.
fn names(covered: &str) -> Vec<String> {
    match covered.rsplit_once("::") {
        Some(("Tensor", method)) => vec![format!(".{method}")],
        // `new` says nothing about its type.
        Some(("QTensor", "new")) => vec![covered.to_string()],
        Some(("QTensor", method)) => vec![covered.to_string(), format!(".{method}")],
        Some((of, _)) if of.starts_with(char::is_uppercase) => vec![of.to_string()],
        Some((_, name)) => vec![name.to_string()],
        None => vec![covered.to_string()],
    }
}
