//! The smallest elements along a dimension.

use candle_core::Tensor;

use crate::ops::Op;
use crate::ops::support::arguments::{ANY, DIM, KEEPDIM_OR_ALL};
use crate::ops::support::reducing::argminmax::{
    EXTREME_PROMISE, SUPPORT, along_dim, contract, extreme, generate, over_dim,
};

/// `x.min(dim)`, `x.min_keepdim(dim)` and `x.min_all()`, by `form`.
pub static MIN: Op = Op {
    name: "tensor.min",
    covers: &["Tensor::min", "Tensor::min_keepdim", "Tensor::min_all"],
    support: SUPPORT,
    inputs: &[ANY],
    params: &[DIM, KEEPDIM_OR_ALL],
    generate: &|draw| generate(draw, &["", "keepdim", "all"]),
    contract: &|case| contract(case, None),
    call: &|call| along_dim(call, Tensor::min, Tensor::min_keepdim, Tensor::min_all),
    source: r#"
        {% if form == "all" %}
        x.min_all()?
        {% elif form == "keepdim" %}
        x.min_keepdim({{ dim }})?
        {% else %}
        x.min({{ dim }})?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "all" %}
        x.min()
        {% else %}
        x.min({{ dim }}{{ ", keepdim=True" if form == "keepdim" else "" }}).values
        {% endif %}
    "#,
    reference: Some(&|inputs| over_dim(inputs, |group| extreme(group, |a, b| a < b))),
    ulps: 4.0,
    differentiable: &["x"],
    promise: EXTREME_PROMISE,
};
