//! The logarithm of sums of exponentials.

use crate::number::Num;
use crate::ops::support::arguments::{ANY, DIMS};
use crate::ops::support::elements::elementwise::FLOATS;
use crate::ops::support::reducing::sums::{contract, generate, over_dims};
use crate::ops::{Contract, Op, rule};

/// `x.log_sum_exp(dims)`: `ln(sum(exp(x)))` over `dims`.
pub static LOG_SUM_EXP: Op = Op {
    name: "tensor.log_sum_exp",
    covers: &["Tensor::log_sum_exp"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[DIMS],
    generate: &|draw| {
        let mut case = generate(draw, LOG_SUM_EXP.support)?;
        case.params.remove("form");
        if !case.params.contains_key("dims") {
            case = case.param("dims", vec![0usize]);
        }
        Ok(case)
    },
    contract: &|case| {
        let integers = case.tensor("x").is_some_and(|x| !x.dtype.is_float());
        match case.sizes("dims").is_empty() {
            true if integers => Contract::Unspecified("a reduction over no dimension"),
            false if integers => Contract::Rejects(&rule::LOGARITHM),
            _ => contract(case, |_, _| true),
        }
    },
    call: &|call| Ok(vec![call.tensor("x")?.log_sum_exp(call.case.sizes("dims"))?]),
    source: "x.log_sum_exp([{{ dims|join(', ') }}])?",
    torch: r#"x.logsumexp([{{ dims|join(", ") }}])"#,
    reference: Some(&|inputs| {
        over_dims(inputs, |group| {
            let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
            if group.iter().any(|x| x.value == high) && group.iter().all(|x| !x.value.is_nan()) {
                Num::exact(high)
            } else if group.iter().all(|x| x.value == low) {
                Num::exact(low)
            } else {
                Num::log_sum_exp(group)
            }
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2916-2931; torch.logsumexp: ln(0) = -inf for a row of -inf, inf for one with \
         inf",
};
