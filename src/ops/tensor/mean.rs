//! Means over dimensions.

use crate::case::Case;
use crate::number::Num;
use crate::ops::Op;
use crate::ops::support::arguments::{ANY, DIMS, KEEPDIM_OR_ALL};
use crate::ops::support::elements::elementwise::FLOATS;
use crate::ops::support::reducing::reductions::{ANY_VALUE, reduced_dims};
use crate::ops::support::reducing::sums::{contract, generate, over_dims};
use crate::tensor::DType;

/// `x.mean(dims)`, `x.mean_keepdim(dims)` and `x.mean_all()`, by `form`.
pub static MEAN: Op = Op {
    name: "tensor.mean",
    covers: &["Tensor::mean", "Tensor::mean_keepdim", "Tensor::mean_all"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[DIMS, KEEPDIM_OR_ALL],
    generate: &|draw| generate(draw, MEAN.support),
    contract: &|case| {
        let contract = contract(case, |sum, count| count > 0 && sum % count == 0);
        let integers = case.tensor("x").is_some_and(|x| !x.dtype.is_float());
        let contract = contract.may_refuse(integers, "PyTorch has no mean of integers");
        contract.may_refuse(reduces_nothing(case), "the mean of an empty tensor")
    },
    call: &|call| {
        let (x, dims) = (call.tensor("x")?, call.case.sizes("dims"));
        Ok(vec![match call.case.text("form") {
            "all" => x.mean_all()?,
            "keepdim" => x.mean_keepdim(dims)?,
            _ => x.mean(dims)?,
        }])
    },
    source: r#"
        {% if form == "all" %}
        x.mean_all()?
        {% else %}
        x.mean{{ "_keepdim" if form == "keepdim" else "" }}([{{ dims|join(", ") }}])?
        {% endif %}
    "#,
    torch: r#"
        {% if not inputs.x.float %}{{ lacks("a mean of integers") }}{% endif %}
        {% if form == "all" %}
        x.mean()
        {% else %}
        x.mean([{{ dims|join(", ") }}]{{ ", keepdim=True" if form == "keepdim" else "" }})
        {% endif %}
    "#,
    reference: Some(&|inputs| {
        // 0 / 0, as in PyTorch, which refuses the 8-bit float.
        let narrow = MEAN.dtype(inputs.case) == Some(DType::F8e4m3);
        let of_nothing = if narrow { ANY_VALUE } else { Num::exact(f64::NAN) };
        over_dims(inputs, |group| if group.is_empty() { of_nothing } else { Num::mean(group) })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1054-1069, 2166-2168; torch.mean",
};

/// Whether the case reduces a dimension of size 0.
fn reduces_nothing(case: &Case) -> bool {
    let Some(x) = case.tensor("x") else { return false };
    reduced_dims(case, x.shape.len()).iter().any(|&dim| x.shape.get(dim) == Some(&0))
}
