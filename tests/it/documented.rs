//! Documentation is a promise: each example in candle's documentation that asserts a result is a call, and its contract and its reference
//! say the same.

use std::collections::BTreeSet;

use serde::Deserialize;
use snuffer::case::Case;
use snuffer::ops::{self, Contract, ReferenceInputs};
use syn::{Attribute, Expr, ExprLit, ImplItem, Item, Lit, Meta};

use crate::inventory::{files, sources};

#[derive(Deserialize)]
struct Documented {
    example: Vec<Example>,
}

#[derive(Deserialize)]
struct Example {
    of: String,
    outputs: Vec<Output>,
    #[serde(flatten)]
    case: Case,
}

#[derive(Deserialize)]
struct Output {
    shape: Vec<usize>,
    /// Rounded to four digits, as some examples are. Some assert the shape alone.
    values: Option<Vec<f64>>,
}

fn examples() -> Vec<Example> {
    let documented: Documented = toml::from_str(include_str!("documented.toml")).expect("examples");
    documented.example
}

/// Whether the documentation has an example that asserts what a call returns.
fn asserts_a_result(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::NameValue(doc) if doc.path.is_ident("doc") => match &doc.value {
            Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => line.value().contains("assert_eq!("),
            _ => false,
        },
        _ => false,
    })
}

/// The functions whose documentation has such an example: `Tensor::narrow`, `softmax`. `Tensor::index` is private, and what `Tensor::i` calls.
fn with_asserted_results() -> BTreeSet<String> {
    let items = ["candle-core", "candle-nn"].into_iter().flat_map(|package| files(&sources(package)));
    let named = |item: Item| match item {
        Item::Fn(function) if asserts_a_result(&function.attrs) => vec![function.sig.ident.to_string()],
        Item::Impl(block) => {
            let methods = block.items.into_iter().filter_map(|item| match item {
                ImplItem::Fn(method) if asserts_a_result(&method.attrs) => {
                    Some(format!("Tensor::{}", method.sig.ident))
                }
                _ => None,
            });
            methods.collect()
        }
        _ => Vec::new(),
    };
    items.flat_map(|(_, file)| file.items).flat_map(named).collect()
}

#[test]
fn contracts_and_references_give_the_results_that_candle_documents() {
    for Example { of, outputs, case } in examples() {
        let (op, case) = ops::accept(case).unwrap_or_else(|problem| panic!("{of}: {problem}"));
        let Contract::Accepts { outputs: promised, .. } = op.contract(&case) else { panic!("{of}: no valid call") };
        let shapes: Vec<&Vec<usize>> = outputs.iter().map(|output| &output.shape).collect();
        assert_eq!(promised.iter().map(|(_, shape)| shape).collect::<Vec<_>>(), shapes, "{of}");
        let computed = op.reference().expect("a reference")(&ReferenceInputs::new(&case));
        for (output, computed) in outputs.iter().zip(&computed) {
            let Some(values) = &output.values else { continue };
            let agree = values.iter().zip(computed).all(|(value, computed)| (value - computed.value).abs() <= 5e-5);
            assert!(agree && values.len() == computed.len(), "{of}: documented {values:?}, computed {computed:?}");
        }
    }
}

#[test]
fn each_documented_result_is_an_example() {
    let documented = with_asserted_results();
    assert!(documented.len() > 30, "{documented:?}");
    let function = |of: String| {
        if of.starts_with("Tensor::") { of } else { of.rsplit("::").next().unwrap_or_default().to_string() }
    };
    let listed: BTreeSet<String> = examples().into_iter().map(|example| function(example.of)).collect();
    assert_eq!(listed, documented);
}
