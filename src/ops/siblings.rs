//! Siblings: pairs of calls that candle has for one thing, such as a fused form and its plain one. What is promised of neither is
//! the same for both.

use super::{Contract, own};
use crate::case::{Backward, Case};
use crate::outcome::Outcome;
use crate::tensor::DType;

/// Another call of candle that does the same as the calls of an op.
#[derive(Debug)]
pub struct Sibling {
    /// The ops whose calls it stands beside.
    of: &'static [&'static str],
    /// What people call it.
    pub name: &'static str,
    /// How much of it is the same.
    pub same: Same,
    /// The call with the arguments of a case; `None` if it has no such call.
    call: fn(&Case) -> Option<Case>,
}

/// How much two calls have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Same {
    /// Whether they are accepted.
    Acceptance,
    /// Also their outputs.
    Values,
    /// Only their outputs, of which one is more precise.
    Rounded,
}

/// The sibling of `case`, if its op has one that takes these arguments, and the sibling's case.
pub fn sibling(case: &Case) -> Option<(&'static Sibling, Case)> {
    let of = |sibling: &&Sibling| sibling.of.contains(&case.op.as_str());
    let call = |sibling: &'static Sibling| Some((sibling, Case { backward: Backward::None, ..(sibling.call)(case)? }));
    let of_own: &[Sibling] = if own::keeps(case) { &OF_OWN } else { &[] };
    SIBLINGS.iter().filter(of).chain(of_own).find_map(call)
}

/// The sibling of `case` that shows more: if the contract does not decide whether `outcome` is right.
pub fn beside(case: &Case, outcome: &Outcome) -> Option<Case> {
    let (relation, sibling) = sibling(case)?;
    if relation.same == Same::Rounded {
        return matches!(outcome, Outcome::Returned(_)).then_some(sibling);
    }
    let is_open = matches!(
        (outcome, super::find(&case.op)?.contract(case)),
        (Outcome::Returned(_) | Outcome::Rejected(_), Contract::Unspecified(_))
            | (Outcome::Rejected(_), Contract::Accepts { .. })
    );
    is_open.then_some(sibling)
}

/// What stands beside an op that a program defines: the reference of its definition, or else the call itself. In `f64`, what it returns
/// may differ only by roundings.
static OF_OWN: [Sibling; 2] = [
    Sibling { of: &[], name: "its reference in f64", same: Same::Rounded, call: own::of_reference },
    Sibling {
        of: &[],
        name: "the same call in f64",
        same: Same::Rounded,
        call: |case| {
            let is_narrow = |dtype: DType| dtype.is_float() && dtype != DType::F64;
            case.inputs.values().any(|tensor| is_narrow(tensor.dtype)).then(|| own::in_f64(case))
        },
    },
];

/// Every pair. The first call of a pair is the special one: fused, in place, a layer, of a fixed dimension.
static SIBLINGS: &[Sibling] = &[
    Sibling {
        of: &["op.softmax_last_dim"],
        name: "op.softmax",
        same: Same::Values,
        call: |case| Some(renamed(case, "op.softmax").param("dim", rank(case, "x")?.checked_sub(1)?)),
    },
    Sibling {
        of: &["op.layer_norm"],
        name: "op.layer_norm_slow",
        same: Same::Values,
        call: |case| Some(renamed(case, "op.layer_norm_slow")),
    },
    Sibling {
        of: &["op.rms_norm"],
        name: "op.rms_norm_slow",
        same: Same::Values,
        call: |case| Some(renamed(case, "op.rms_norm_slow")),
    },
    Sibling {
        of: &["rotary.rope"],
        name: "rotary.rope_slow",
        same: Same::Values,
        call: |case| one_rank(case).then(|| renamed(case, "rotary.rope_slow")),
    },
    Sibling {
        of: &["rotary.rope_i"],
        name: "rotary.rope_i_slow",
        same: Same::Values,
        call: |case| one_rank(case).then(|| renamed(case, "rotary.rope_i_slow")),
    },
    Sibling {
        of: &["rotary.rope_slow"],
        name: "rotary.rope",
        same: Same::Values,
        call: |case| has_table_per_sequence(case).then(|| renamed(case, "rotary.rope")),
    },
    Sibling {
        of: &["rotary.rope_i_slow"],
        name: "rotary.rope_i",
        same: Same::Values,
        call: |case| has_table_per_sequence(case).then(|| renamed(case, "rotary.rope_i")),
    },
    Sibling {
        of: &["loss.cross_entropy"],
        name: "loss.nll of op.log_softmax",
        same: Same::Values,
        call: |case| {
            let scores = Case::new("op.log_softmax").param("dim", 1_usize).input("x", case.tensor("inp")?.clone());
            Some(sequence([scores, Case::new("loss.nll").input("target", case.tensor("target")?.clone())]))
        },
    },
    Sibling {
        of: &["loss.mse"],
        name: "tensor.mean of the squared difference",
        same: Same::Values,
        call: |case| {
            let (inp, target) = (case.tensor("inp")?.clone(), case.tensor("target")?.clone());
            let difference = Case::new("tensor.sub").input("lhs", inp).input("rhs", target);
            Some(sequence([difference, Case::new("tensor.sqr"), Case::new("tensor.mean").param("form", "all")]))
        },
    },
    Sibling {
        of: &["tensor.norm"],
        name: "the root of tensor.sum of the squares",
        same: Same::Values,
        call: |case| {
            let squares = Case::new("tensor.sqr").input("x", case.tensor("x")?.clone());
            Some(sequence([squares, Case::new("tensor.sum").param("form", "all"), Case::new("tensor.sqrt")]))
        },
    },
    Sibling {
        of: &["tensor.scatter_set"],
        name: "tensor.scatter",
        same: Same::Values,
        call: |case| Some(renamed(case, "tensor.scatter")),
    },
    Sibling {
        of: &["tensor.scatter_add_set"],
        name: "tensor.scatter_add",
        same: Same::Values,
        call: |case| Some(renamed(case, "tensor.scatter_add")),
    },
    Sibling {
        of: &["tensor.slice_set", "tensor.slice_scatter0"],
        name: "tensor.slice_scatter",
        same: Same::Values,
        call: |case| Some(renamed(case, "tensor.slice_scatter")),
    },
    Sibling {
        of: &["tensor.embedding"],
        name: "tensor.index_select",
        same: Same::Values,
        call: |case| Some(renamed(case, "tensor.index_select")),
    },
    Sibling {
        of: &["tensor.matmul"],
        name: "tensor.broadcast_matmul",
        same: Same::Values,
        call: |case| Some(renamed(case, "tensor.broadcast_matmul")),
    },
    Sibling {
        of: &BINARY,
        name: "the broadcasting form",
        same: Same::Values,
        call: |case| case.text("form").is_empty().then(|| case.clone().param("form", "broadcast")),
    },
    Sibling {
        of: &["tensor.sum", "tensor.mean", "tensor.var", "tensor.max", "tensor.min", "tensor.argmax", "tensor.argmin"],
        name: "the form that keeps the dimension",
        same: Same::Acceptance,
        call: |case| case.text("form").is_empty().then(|| case.clone().param("form", "keepdim")),
    },
    Sibling {
        of: &["op.sigmoid", "op.silu", "op.mish", "op.hard_sigmoid", "op.leaky_relu", "op.swiglu", "tensor.elu"],
        name: "layer.activation",
        same: Same::Values,
        call: |case| {
            let kind = case.op.split('.').nth(1)?.replace('_', "");
            let mut layer = renamed(case, "layer.activation").param("kind", kind.as_str());
            if let Some(slope) = layer.params.remove("negative_slope") {
                layer.params.insert("alpha".to_string(), slope);
            }
            Some(layer)
        },
    },
    Sibling {
        of: &["layer.conv1d", "layer.conv2d", "layer.conv_transpose1d", "layer.conv_transpose2d"],
        name: "the convolution of tensors",
        same: Same::Values,
        call: |case| {
            let alone = case.text("form").is_empty() && case.tensor("bias").is_none();
            alone.then(|| renamed(case, &case.op.replace("layer.", "tensor.")))
        },
    },
    Sibling {
        of: &["layer.batch_norm_train"],
        name: "layer.batch_norm",
        same: Same::Acceptance,
        call: |case| {
            let mut evaluated = renamed(case, "layer.batch_norm");
            evaluated.params.remove("momentum");
            // Only training counts the values of a channel, even if there is none.
            case.tensor("x").is_some_and(|x| x.shape.get(1) != Some(&0)).then_some(evaluated)
        },
    },
    Sibling {
        of: &["attention.flash_attn_varlen_cpu"],
        name: "attention.flash_attn_varlen_unfused",
        same: Same::Values,
        call: |case| Some(renamed(case, "attention.flash_attn_varlen_unfused")),
    },
    Sibling {
        of: &["cache.kv"],
        name: "cache.concat",
        same: Same::Values,
        // It has no size that could be 0.
        call: |case| (case.size("max") > 0).then(|| renamed(case, "cache.concat")),
    },
];

const BINARY: [&str; 12] = [
    "tensor.add",
    "tensor.sub",
    "tensor.mul",
    "tensor.div",
    "tensor.maximum",
    "tensor.minimum",
    "tensor.eq",
    "tensor.ne",
    "tensor.lt",
    "tensor.le",
    "tensor.gt",
    "tensor.ge",
];

/// Whether both tables have one rank: the slow forms have none for a table of a batch beside one of a matrix.
fn one_rank(case: &Case) -> bool {
    let rank = |name: &str| case.tensor(name).map(|table| table.shape.len());
    rank("cos") == rank("sin")
}

/// True if both tables have a batch dimension. The fused forms take them, but no views.
fn has_table_per_sequence(case: &Case) -> bool {
    let has_batch = |name| case.tensor(name).is_some_and(|table| table.shape.len() == 3);
    case.is_contiguous() && ["cos", "sin"].into_iter().all(has_batch)
}

/// The case as a call of `op` with the same arguments.
fn renamed(case: &Case, op: &str) -> Case {
    Case { op: op.to_string(), ..case.clone() }
}

/// One call after the other.
fn sequence(calls: impl IntoIterator<Item = Case>) -> Case {
    Case::new(super::sequence::SEQUENCE.name).with_calls(calls.into_iter().collect())
}

/// The number of dimensions of an input.
fn rank(case: &Case, name: &str) -> Option<usize> {
    case.tensor(name).map(|tensor| tensor.shape.len())
}
