//! `conv2d` of each half of a batch.

use crate::case::InputSpec;
use crate::ops::Op;
use crate::ops::support::arguments::{ALGORITHM, DILATION, GROUPS, PADDING, STRIDE};
use crate::ops::support::moving::gather_map::shape_of;
use crate::ops::support::relation::{call_halves, draw_contiguous, halves_contract};
use crate::ops::tensor::conv::CONV2D;

/// `conv2d` of each half of the batch.
pub static CONV2D_SPLIT: Op = Op {
    name: "relation.conv2d_split",
    covers: &["Tensor::conv2d"],
    support: CONV2D.support,
    inputs: &[InputSpec::new("x", "(B, C, H, W)"), InputSpec::new("kernel", "(O, C / groups, KH, KW)")],
    params: &[ALGORITHM, DILATION, GROUPS, PADDING, STRIDE],
    generate: &|draw| draw_contiguous(draw, &CONV2D, |case| shape_of(case).len() > 1),
    contract: &|case| halves_contract(case, &CONV2D),
    call: &|call| call_halves(call, &CONV2D),
    source: r#"
        let mut halves = Vec::new();
        for x in x.chunk(2, 0)? {
            halves.push({% filter trim %}{% include "tensor.conv2d" %}{% endfilter %});
        }
        Tensor::cat(&halves, 0)?
    "#,
    // A relation between calls of candle.
    torch: "",
    reference: CONV2D.reference,
    ulps: 4.0,
    // The entries of the ops themselves judge gradients.
    differentiable: &[],
    promise: "the entries of a batch are independent",
};
