//! Invariants: what holds of an op's outputs even where the reference does not know their values, since a step overflows, an
//! order decides, or one of several sources is taken.

mod distribution;
mod extremes;
mod groups;
mod growth;
mod laws;
mod rivals;
mod standardized;
mod totals;

use std::cmp::Ordering;
use std::collections::HashSet;

pub use laws::Law;
pub use rivals::broken_shares;

use crate::case::Case;
use crate::ops::sequence::placed;
use crate::tensor::Tensor;

/// An invariant, and the ops that keep it.
#[derive(Debug)]
pub struct Invariant {
    /// The ops.
    of: &'static [&'static str],
    /// The invariant.
    pub law: Law,
    /// Where it is from.
    pub source: &'static str,
}

/// Ranges are those of the functions; PyTorch 2.15 keeps them for all pairs of finite extremes of its float dtypes, without a NaN.
const RANGE: &str = "the range of the function; torch.nn.functional returns no NaN for finite inputs";
const ORDER: &str = "the function is monotone";

static INVARIANTS: &[Invariant] = &[
    Invariant {
        of: &["op.softmax", "op.softmax_last_dim", "op.sigmoid", "op.hard_sigmoid"],
        law: Law::Within(0.0, 1.0),
        source: RANGE,
    },
    Invariant {
        of: &["tensor.tanh", "tensor.sin", "tensor.cos", "tensor.erf"],
        law: Law::Within(-1.0, 1.0),
        source: RANGE,
    },
    Invariant {
        of: &["tensor.relu", "tensor.exp", "tensor.sqr", "tensor.sqrt", "tensor.abs", "tensor.norm", "tensor.var"],
        law: Law::Within(0.0, f64::INFINITY),
        source: RANGE,
    },
    Invariant {
        of: &["loss.mse", "loss.huber", "loss.cross_entropy", "loss.binary_cross_entropy_with_logit"],
        law: Law::Within(0.0, f64::INFINITY),
        source: RANGE,
    },
    Invariant { of: &["op.log_softmax"], law: Law::Within(f64::NEG_INFINITY, 0.0), source: RANGE },
    Invariant { of: &["tensor.gelu", "tensor.gelu_erf"], law: Law::Within(-0.171, f64::INFINITY), source: RANGE },
    Invariant { of: &["tensor.silu", "op.silu"], law: Law::Within(-0.279, f64::INFINITY), source: RANGE },
    Invariant { of: &["op.mish"], law: Law::Within(-0.309, f64::INFINITY), source: RANGE },
    Invariant {
        of: &[
            "op.softmax",
            "op.softmax_last_dim",
            "op.log_softmax",
            "op.sigmoid",
            "op.hard_sigmoid",
            "op.mish",
            "op.silu",
            "tensor.tanh",
            "tensor.sin",
            "tensor.cos",
            "tensor.erf",
            "tensor.relu",
            "tensor.exp",
            "tensor.sqr",
            "tensor.abs",
            "tensor.gelu",
            "tensor.gelu_erf",
            "tensor.silu",
            "tensor.norm",
            "loss.mse",
            "loss.huber",
            "loss.cross_entropy",
            "loss.binary_cross_entropy_with_logit",
        ],
        law: Law::NotNan,
        source: RANGE,
    },
    Invariant {
        of: &[
            "op.sigmoid",
            "op.hard_sigmoid",
            "tensor.tanh",
            "tensor.erf",
            "tensor.relu",
            "tensor.exp",
            "tensor.sqrt",
            "tensor.log",
            "tensor.floor",
            "tensor.ceil",
            "tensor.round",
        ],
        law: Law::InOrder,
        source: ORDER,
    },
    Invariant {
        of: &["attention.flash_attn", "attention.flash_attn_varlen_cpu", "attention.flash_attn_varlen_unfused"],
        law: Law::Average("v"),
        source: "torch.nn.functional.scaled_dot_product_attention: a sum of values by weights that are a softmax",
    },
    Invariant {
        of: &["attention.causal_decode_f32_interleaved"],
        law: Law::Average("kv"),
        source: "a sum of values by weights that are a softmax; keys and values are one input",
    },
    Invariant {
        of: &["tensor.avg_pool2d", "tensor.upsample_bilinear2d", "tensor.upsample_bilinear2d_with_scale"],
        law: Law::Average("x"),
        source: "an average",
    },
    Invariant { of: &["layer.lstm"], law: Law::Within(-1.0, 1.0), source: "torch.nn.LSTM: a sigmoid times a tanh" },
    Invariant {
        of: &[
            "op.layer_norm",
            "op.layer_norm_slow",
            "op.rms_norm",
            "op.rms_norm_slow",
            "layer.layer_norm",
            "layer.layer_norm_no_bias",
            "layer.rms_norm",
            "layer.rms_norm_diff",
            "layer.group_norm",
            "layer.batch_norm_train",
        ],
        law: Law::Standardized,
        source: "no number is further from the mean of n than the square root of n standard deviations, and the mean square of \
                 all of them is 1; torch.nn.functional keeps to it where the deviation is more than a few roundoffs of the numbers, and returns no NaN for finite inputs",
    },
    Invariant {
        of: &["tensor.scatter", "tensor.scatter_set"],
        law: Law::OneOfSources,
        source: "torch.Tensor.scatter_: of several values for one place, one is picked arbitrarily",
    },
    Invariant {
        of: &["tensor.arg_sort_last_dim"],
        law: Law::Sorts,
        source: "torch.argsort: the indices that sort a tensor along its last dimension, equal elements in any order",
    },
    Invariant {
        of: &["tensor.argmax"],
        law: Law::Position(Ordering::Greater),
        source: "torch.argmax: an index of the maximum value, or of a NaN",
    },
    Invariant {
        of: &["tensor.argmin"],
        law: Law::Position(Ordering::Less),
        source: "torch.argmin: an index of the minimum value, or of a NaN",
    },
    Invariant {
        of: &["tensor.max"],
        law: Law::Extreme(Ordering::Greater),
        source: "torch.amax: one of the elements, and none is larger",
    },
    Invariant {
        of: &["tensor.min"],
        law: Law::Extreme(Ordering::Less),
        source: "torch.amin: one of the elements, and none is smaller",
    },
    Invariant {
        of: &["op.softmax", "op.softmax_last_dim"],
        law: Law::AddsUpToOne { logarithms: false },
        source: "torch.nn.functional.softmax: the elements of a row sum to 1",
    },
    Invariant {
        of: &["op.log_softmax"],
        law: Law::AddsUpToOne { logarithms: true },
        source: "torch.nn.functional.log_softmax: the logarithm of softmax, in a formulation that is stable",
    },
    Invariant {
        of: &["tensor.sum"],
        law: Law::Total(totals::sum),
        source: "IEEE 754: rounding keeps the order, so adding numbers of one sign never brings a sum back",
    },
    Invariant { of: &["tensor.mean"], law: Law::Total(totals::mean), source: "a mean is between the extremes" },
    Invariant {
        of: &["tensor.log_sum_exp"],
        law: Law::Total(|group| Some(totals::log_sum_exp(group))),
        source: "the largest number, or more by up to the logarithm of how many there are; torch.logsumexp is stable",
    },
    Invariant {
        of: &["tensor.norm"],
        law: Law::Total(|group| Some(totals::norm(group))),
        source: "the largest magnitude, or more by up to the square root of how many there are",
    },
    Invariant {
        of: &["tensor.var"],
        law: Law::Total(totals::variance),
        source: "Popoviciu's inequality: at most a quarter of the square of the range",
    },
    Invariant {
        of: &["tensor.cumsum"],
        law: Law::Grows,
        source: "IEEE 754: rounding keeps the order, so adding numbers that are not negative never makes a sum smaller",
    },
];

/// The invariants of the op of `case`.
pub fn invariants(case: &Case) -> impl Iterator<Item = &'static Invariant> {
    INVARIANTS.iter().filter(|invariant| invariant.of.contains(&case.op.as_str()))
}

/// Whether two elements are written to one place in a call, or in a step: the threads of a parallel kernel race for it, and one of them wins
/// (torch.Tensor.scatter_ is nondeterministic then).
pub fn has_rivals(case: &Case) -> bool {
    let listed = |ids: &&Tensor| !ids.dtype.is_float() && !ids.is_vast();
    let ids = |name: &str| case.tensor(name).filter(listed).map(|ids| (ids, ids.ints()));
    match case.op.as_str() {
        _ if !case.steps.is_empty() => placed(case).iter().any(|step| has_rivals(&step.call)),
        "tensor.scatter" | "tensor.scatter_set" => rivals::written(case).values().any(|sources| sources.len() > 1),
        "op.moe_gemm" | "op.moe_gemm_gguf" => ids("token_ids").is_some_and(|(_, values)| {
            let places: HashSet<&i64> = values.iter().collect();
            places.len() < values.len()
        }),
        _ => false,
    }
}
