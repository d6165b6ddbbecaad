//! `conv1d` of a doubled input, and of each half of a batch.

use crate::case::InputSpec;
use crate::number::Num;
use crate::ops::support::arguments::{ALGORITHM, DILATION, GROUPS, PADDING, STRIDE};
use crate::ops::support::dtypes::FLOATS;
use crate::ops::support::moving::gather_map::shape_of;
use crate::ops::support::relation::{accepted, call_halves, contiguous_contract, draw_contiguous, halves_contract};
use crate::ops::tensor::conv::CONV1D;
use crate::ops::{Op, ReferenceInputs};

/// `conv1d(2 x)` is `2 conv1d(x)`, exactly.
pub static CONV1D_SCALED: Op = Op {
    name: "relation.conv1d_scaled",
    covers: &["Tensor::conv1d"],
    support: FLOATS,
    inputs: &[InputSpec::new("x", "(B, C, L)"), InputSpec::new("kernel", "(O, C / groups, K)")],
    params: &[ALGORITHM, DILATION, GROUPS, PADDING, STRIDE],
    generate: &|draw| draw_contiguous(draw, &CONV1D, |_| true),
    contract: &|case| contiguous_contract(case, &CONV1D),
    call: &|call| {
        let call = accepted(call, &contiguous_contract(call.case, &CONV1D))?;
        let mut tensors = call.tensors.clone();
        tensors.insert("x", (call.tensor("x")? * 2.0)?);
        CONV1D.call(call.case, tensors, call.devices)
    },
    source: r#"
        let x = (&x * 2.0)?;
        {% include "tensor.conv1d" %}
    "#,
    // A relation between calls of candle.
    torch: "",
    reference: Some(&|inputs| {
        let doubled = inputs.array("x").mapv(|x| x * Num::exact(2.0));
        let inputs = ReferenceInputs { flowing: Some(("x", doubled)), ..inputs.clone() };
        CONV1D.reference().map_or_else(Vec::new, |of| of(&inputs))
    }),
    ulps: 4.0,
    // The entries of the ops themselves judge gradients.
    differentiable: &[],
    promise: "a convolution is linear",
};

/// `conv1d` of each half of the batch.
pub static CONV1D_SPLIT: Op = Op {
    name: "relation.conv1d_split",
    covers: &["Tensor::conv1d"],
    support: FLOATS,
    inputs: &[InputSpec::new("x", "(B, C, L)"), InputSpec::new("kernel", "(O, C / groups, K)")],
    params: &[ALGORITHM, DILATION, GROUPS, PADDING, STRIDE],
    generate: &|draw| draw_contiguous(draw, &CONV1D, |case| shape_of(case).len() > 1),
    contract: &|case| halves_contract(case, &CONV1D),
    call: &|call| call_halves(call, &CONV1D),
    source: r#"
        let mut halves = Vec::new();
        for x in x.chunk(2, 0)? {
            halves.push({% filter trim %}{% include "tensor.conv1d" %}{% endfilter %});
        }
        Tensor::cat(&halves, 0)?
    "#,
    // A relation between calls of candle.
    torch: "",
    reference: CONV1D.reference,
    ulps: 4.0,
    // The entries of the ops themselves judge gradients.
    differentiable: &[],
    promise: "the entries of a batch are independent",
};
