//! The largest elements along a dimension.

use candle_core::Tensor;

use crate::ops::Op;
use crate::ops::support::arguments::{ANY, DIM, KEEPDIM_OR_ALL};
use crate::ops::support::reducing::argminmax::{
    EXTREME_PROMISE, SUPPORT, along_dim, contract, extreme, generate, over_dim,
};

/// `x.max(dim)`, `x.max_keepdim(dim)` and `x.max_all()`, by `form`.
pub static MAX: Op = Op {
    name: "tensor.max",
    covers: &["Tensor::max", "Tensor::max_keepdim", "Tensor::max_all"],
    support: SUPPORT,
    inputs: &[ANY],
    params: &[DIM, KEEPDIM_OR_ALL],
    generate: &|draw| generate(draw, &["", "keepdim", "all"]),
    contract: &|case| contract(case, None),
    call: &|call| along_dim(call, Tensor::max, Tensor::max_keepdim, Tensor::max_all),
    source: r#"
        {% if form == "all" %}
        x.max_all()?
        {% elif form == "keepdim" %}
        x.max_keepdim({{ dim }})?
        {% else %}
        x.max({{ dim }})?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "all" %}
        x.max()
        {% else %}
        x.max({{ dim }}{{ ", keepdim=True" if form == "keepdim" else "" }}).values
        {% endif %}
    "#,
    reference: Some(&|inputs| over_dim(inputs, |group| extreme(group, |a, b| a > b))),
    ulps: 4.0,
    differentiable: &["x"],
    promise: EXTREME_PROMISE,
};
