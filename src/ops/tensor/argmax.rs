//! The positions of the largest elements along a dimension.

use candle_core::Tensor;

use crate::ops::Op;
use crate::ops::support::arguments::{ANY, DIM, KEEPDIM};
use crate::ops::support::reducing::argminmax::{
    POSITION_PROMISE, SUPPORT, along_dim, contract, generate, over_dim, position,
};
use crate::tensor::DType;

/// `x.argmax(dim)` and `x.argmax_keepdim(dim)`, by `form`: `u32`, the first one of several.
pub static ARGMAX: Op = Op {
    name: "tensor.argmax",
    covers: &["Tensor::argmax", "Tensor::argmax_keepdim"],
    support: SUPPORT,
    inputs: &[ANY],
    params: &[DIM, KEEPDIM],
    generate: &|draw| generate(draw, &["", "keepdim"]),
    contract: &|case| contract(case, Some(DType::U32)),
    call: &|call| along_dim(call, Tensor::argmax, Tensor::argmax_keepdim, |x| x.flatten_all()?.argmax(0)),
    source: r#"
        {% if form == "all" %}
        x.flatten_all()?.argmax(0)?
        {% elif form == "keepdim" %}
        x.argmax_keepdim({{ dim }})?
        {% else %}
        x.argmax({{ dim }})?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "all" %}
        x.argmax()
        {% else %}
        x.argmax({{ dim }}{{ ", keepdim=True" if form == "keepdim" else "" }})
        {% endif %}
    "#,
    reference: Some(&|inputs| over_dim(inputs, |group| position(group, |a, b| a > b))),
    ulps: 4.0,
    differentiable: &[],
    promise: POSITION_PROMISE,
};
