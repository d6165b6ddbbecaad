//! `layer_norm` of each half of the rows.

use crate::case::InputSpec;
use crate::ops::Op;
use crate::ops::op::layer_norm::LAYER_NORM;
use crate::ops::support::arguments::EPS;
use crate::ops::support::moving::gather_map::shape_of;
use crate::ops::support::relation::{call_halves, draw_contiguous, halves_contract};

/// `layer_norm` of each half of the rows.
pub static LAYER_NORM_SPLIT: Op = Op {
    name: "relation.layer_norm_split",
    covers: &["ops::layer_norm"],
    support: LAYER_NORM.support,
    inputs: &[
        InputSpec::new("x", "(.., H)"),
        InputSpec::new("alpha", "(H): the weight"),
        InputSpec::new("beta", "(H): the bias"),
    ],
    params: &[EPS],
    generate: &|draw| draw_contiguous(draw, &LAYER_NORM, |case| shape_of(case).len() > 1),
    contract: &|case| halves_contract(case, &LAYER_NORM),
    call: &|call| call_halves(call, &LAYER_NORM),
    source: r#"
        let mut halves = Vec::new();
        for x in x.chunk(2, 0)? {
            halves.push({% filter trim %}{% include "op.layer_norm" %}{% endfilter %});
        }
        Tensor::cat(&halves, 0)?
    "#,
    // A relation between calls of candle.
    torch: "",
    reference: LAYER_NORM.reference,
    ulps: 8.0,
    // The entries of the ops themselves judge gradients.
    differentiable: &[],
    promise: "the entries of a batch are independent",
};
