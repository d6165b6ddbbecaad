//! The positions of the smallest elements along a dimension.

use candle_core::Tensor;

use crate::ops::Op;
use crate::ops::support::arguments::{ANY, DIM, KEEPDIM};
use crate::ops::support::reducing::argminmax::{
    POSITION_PROMISE, SUPPORT, along_dim, contract, generate, over_dim, position,
};
use crate::tensor::DType;

/// `x.argmin(dim)` and `x.argmin_keepdim(dim)`, by `form`: `u32`, the first one of several.
pub static ARGMIN: Op = Op {
    name: "tensor.argmin",
    covers: &["Tensor::argmin", "Tensor::argmin_keepdim"],
    support: SUPPORT,
    inputs: &[ANY],
    params: &[DIM, KEEPDIM],
    generate: &|draw| generate(draw, &["", "keepdim"]),
    contract: &|case| contract(case, Some(DType::U32)),
    call: &|call| along_dim(call, Tensor::argmin, Tensor::argmin_keepdim, |x| x.flatten_all()?.argmin(0)),
    source: r#"
        {% if form == "all" %}
        x.flatten_all()?.argmin(0)?
        {% elif form == "keepdim" %}
        x.argmin_keepdim({{ dim }})?
        {% else %}
        x.argmin({{ dim }})?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "all" %}
        x.argmin()
        {% else %}
        x.argmin({{ dim }}{{ ", keepdim=True" if form == "keepdim" else "" }})
        {% endif %}
    "#,
    reference: Some(&|inputs| over_dim(inputs, |group| position(group, |a, b| a < b))),
    ulps: 4.0,
    differentiable: &[],
    promise: POSITION_PROMISE,
};
