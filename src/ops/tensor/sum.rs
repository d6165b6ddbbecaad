//! Sums over dimensions.

use crate::number::Num;
use crate::ops::Op;
use crate::ops::support::arguments::{ANY, DIMS, KEEPDIM_OR_ALL};
use crate::ops::support::reducing::sums::{contract, generate, over_dims};
use crate::tensor::{DType, Support};

/// `x.sum(dims)`, `x.sum_keepdim(dims)` and `x.sum_all()`, by `form`.
pub static SUM: Op = Op {
    name: "tensor.sum",
    covers: &["Tensor::sum", "Tensor::sum_keepdim", "Tensor::sum_all"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    inputs: &[ANY],
    params: &[DIMS, KEEPDIM_OR_ALL],
    generate: &|draw| generate(draw, SUM.support),
    contract: &|case| contract(case, |_, _| true),
    call: &|call| {
        let (x, dims) = (call.tensor("x")?, call.case.sizes("dims"));
        Ok(vec![match call.case.text("form") {
            "all" => x.sum_all()?,
            "keepdim" => x.sum_keepdim(dims)?,
            _ => x.sum(dims)?,
        }])
    },
    source: r#"
        {% if form == "all" %}
        x.sum_all()?
        {% else %}
        x.sum{{ "_keepdim" if form == "keepdim" else "" }}([{{ dims|join(", ") }}])?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "all" %}
        x.sum()
        {% else %}
        x.sum([{{ dims|join(", ") }}]{{ ", keepdim=True" if form == "keepdim" else "" }})
        {% endif %}
    "#,
    reference: Some(&|inputs| over_dims(inputs, |group| Num::sum(group.iter().copied()))),
    ulps: 1.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1005-1052, 2151-2164; torch.sum; the sum of an empty tensor is 0",
};
