//! Where a promise comes from, as far as it concerns a case, and PyTorch's word on a bad id.

use crate::case::Case;
use crate::examine::BadId;
use crate::ops::{Contract, Op};

/// A condition of a clause.
type Concerns = fn(&Case, &Contract) -> bool;

/// Words of clauses that concern only some calls of an op.
const SPECIAL: [(&str, Concerns); 4] = [
    ("largest id of its dtype", has_largest_id),
    ("dtype's maximum", has_largest_id),
    ("a label outside", |_, contract| matches!(contract, Contract::Rejects(_))),
    ("divisible by groups", |case, contract| {
        matches!(contract, Contract::Rejects(_)) || case.optional_size("groups").is_some_and(|groups| groups != 1)
    }),
];

/// `promise` without the clauses that do not concern `case`.
pub fn sources(promise: &str, case: &Case, contract: &Contract) -> String {
    let concerns =
        |clause: &str| SPECIAL.iter().all(|(words, concerns)| !clause.contains(words) || concerns(case, contract));
    let kept = promise.split("; ").filter_map(|clause| match clause.split_once(": ") {
        _ if concerns(clause) => Some(clause),
        // The name of a function stays, without what is said about it.
        Some((name, _)) => Some(name),
        None => None,
    });
    kept.collect::<Vec<_>>().join("; ")
}

/// Whether an id is the largest of its dtype.
fn has_largest_id(case: &Case, _: &Contract) -> bool {
    case.inputs.values().any(|tensor| {
        let largest = tensor.dtype.int_range().map(|(_, largest)| largest);
        largest.is_some_and(|largest| tensor.values.listed().iter().any(|value| value.as_i64() == largest))
    })
}

/// PyTorch's answer to a bad id, on the CPU and on CUDA; `None` for other calls.
pub fn about_pytorch(op: &Op, case: &Case) -> Option<String> {
    let (bad, file) = BadId::find(op, case).and_then(|bad| Some((bad, asserts(op)?)))?;
    let (noun, _) = bad.nouns();
    Some(match bad.id {
        IGNORED if bad.is_label => format!("PyTorch ignores the label {IGNORED} by default."),
        _ => format!("PyTorch raises an exception for this {noun} on the CPU, and asserts on CUDA, too ({file})."),
    })
}

/// The label that PyTorch's losses ignore by default.
const IGNORED: i64 = -100;

/// The file of PyTorch that asserts on a bad id of this op on CUDA, as far as it was read.
fn asserts(op: &Op) -> Option<&'static str> {
    let call = op.name.rsplit('.').next().unwrap_or(op.name);
    Some(match call {
        "cross_entropy" | "nll" => "aten/src/ATen/native/cuda/Loss.cu",
        "gather" | "scatter" | "scatter_add" => "aten/src/ATen/native/cuda/ScatterGatherKernel.cu",
        "embedding" | "index_add" | "index_select" => "aten/src/ATen/native/cuda/Indexing.cu",
        _ => return None,
    })
}
