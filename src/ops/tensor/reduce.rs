//! Sums over dimensions: `sum`, `mean`, `log_sum_exp`, `cumsum` and `norm`.

use ndarray::{ArrayD, Axis};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::ids::dim;
use crate::ops::support::reductions::{
    DIMS, OPEN, accumulate, gradient_of_nothing, lanes, left, listed, overflows, reduced, reduces,
};
use crate::ops::support::reference_inputs::scalar;
use crate::ops::{Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support};

/// `x.sum(dims)`, `x.sum_keepdim(dims)` and `x.sum_all()`, by `form`.
pub static SUM: Op = Op {
    name: "tensor.sum",
    covers: &["Tensor::sum", "Tensor::sum_keepdim", "Tensor::sum_all"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| summing(draw, SUM.support),
    contract: |case| summed(case, |_, _| true),
    call: |call| {
        let (x, dims) = (call.tensor("x")?, listed(call.case));
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
        x.sum{{ "_keepdim" if form == "keepdim" else "" }}([{{ [dim, dim2, dim3]|select("defined")|join(", ") }}])?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "all" %}
        x.sum()
        {% else %}
        x.sum([{% include "dims" %}]{{ ", keepdim=True" if form == "keepdim" else "" }})
        {% endif %}
    "#,
    reference: Some(|inputs| over_dims(inputs, |lane| Num::sum(lane.iter().copied()))),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1005-1052, 2151-2164; torch.sum; the sum of nothing is 0",
};

/// `x.mean(dims)`, `x.mean_keepdim(dims)` and `x.mean_all()`, by `form`.
pub static MEAN: Op = Op {
    name: "tensor.mean",
    covers: &["Tensor::mean", "Tensor::mean_keepdim", "Tensor::mean_all"],
    support: &FLOAT,
    generate: |draw| summing(draw, MEAN.support),
    contract: |case| {
        let contract = summed(case, |sum, count| count > 0 && sum % count == 0);
        let integers = case.tensor("x").is_some_and(|x| !x.dtype.is_float());
        let contract = contract.may_refuse(integers, "PyTorch has no mean of integers");
        contract.may_refuse(reduces_nothing(case), "the mean of nothing")
    },
    call: |call| {
        let (x, dims) = (call.tensor("x")?, listed(call.case));
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
        x.mean{{ "_keepdim" if form == "keepdim" else "" }}([{{ [dim, dim2, dim3]|select("defined")|join(", ") }}])?
        {% endif %}
    "#,
    torch: r#"
        {% if not inputs.x.float %}{{ lacks("a mean of integers") }}{% endif %}
        {% if form == "all" %}
        x.mean()
        {% else %}
        x.mean([{% include "dims" %}]{{ ", keepdim=True" if form == "keepdim" else "" }})
        {% endif %}
    "#,
    reference: Some(|inputs| over_dims(inputs, |lane| if lane.is_empty() { OPEN } else { Num::mean(lane) })),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1054-1069, 2166-2168; torch.mean",
};

/// `x.log_sum_exp(dims)`: `ln(sum(exp(x)))` over `dims`.
pub static LOG_SUM_EXP: Op = Op {
    name: "tensor.log_sum_exp",
    covers: &["Tensor::log_sum_exp"],
    support: &FLOAT,
    generate: |draw| {
        let mut case = summing(draw, LOG_SUM_EXP.support)?;
        case.params.remove("form");
        if !case.params.contains_key("dim") {
            case = case.param("dim", 0usize);
        }
        Ok(case)
    },
    contract: |case| {
        if case.tensor("x").is_some_and(|x| !x.dtype.is_float()) {
            return Contract::Unspecified("the logarithm of integers");
        }
        let contract = summed(case, |_, _| true);
        contract.may_refuse(case.tensor("x").is_some_and(|x| x.elements() == Some(0)), NOTHING)
    },
    call: |call| Ok(vec![call.tensor("x")?.log_sum_exp(listed(call.case))?]),
    source: "x.log_sum_exp([{{ [dim, dim2, dim3]|select('defined')|join(', ') }}])?",
    torch: r#"x.logsumexp([{% include "dims" %}])"#,
    reference: Some(|inputs| {
        over_dims(inputs, |lane| {
            let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
            if lane.iter().any(|x| x.value == high) && lane.iter().all(|x| !x.value.is_nan()) {
                Num::exact(high)
            } else if lane.iter().all(|x| x.value == low) {
                Num::exact(low)
            } else {
                Num::log_sum_exp(lane)
            }
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2916-2931; torch.logsumexp: ln(0) = -inf for a row of -inf, inf for one with inf",
};

/// `x.cumsum(dim)`: `out[i] = x[0] + .. + x[i]` along `dim`.
pub static CUMSUM: Op = Op {
    name: "tensor.cumsum",
    covers: &["Tensor::cumsum"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| {
        let mut shape = draw.shape(0, 2)?;
        let dim = draw.between(0, shape.len())?;
        // A triangle of this size is the other operand.
        shape.insert(dim, draw.reduced()?.min(2048));
        let dtype = draw.dtype(CUMSUM.support)?;
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?).param("dim", dim);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: |case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
        let Some(dim) = dim(case, x) else { return Contract::Rejects(why::DIM) };
        if !x.dtype.is_float() && overflows(x, &[dim]) {
            return Contract::Unspecified("integer overflow");
        }
        if gradient_of_nothing(case) {
            return Contract::Unspecified("gradients of nothing");
        }
        if x.shape[dim].checked_mul(x.shape[dim]).is_none_or(|n| n > 1 << 22) {
            return Contract::Unspecified(why::TOO_LARGE);
        }
        Contract::accepts(x.dtype, &x.shape)
    },
    call: |call| Ok(vec![call.tensor("x")?.cumsum(call.size("dim", 0))?]),
    source: "x.cumsum({{ dim|default(0) }})?",
    torch: "x.cumsum({{ dim|default(0) }})",
    reference: Some(|inputs| {
        let mut x = inputs.array("x");
        let dim = usize::try_from(inputs.case.int("dim", 0)).unwrap_or(0);
        if !x.is_empty() {
            x.lanes_mut(Axis(dim)).into_iter().for_each(|lane| accumulate(lane.into_iter()));
        }
        vec![x]
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2838-2860; torch.cumsum",
};

/// `x.norm()`: `sqrt(sum(x^2))`, a scalar.
pub static NORM: Op = Op {
    name: "tensor.norm",
    covers: &["Tensor::norm"],
    support: &FLOAT,
    generate: |draw| {
        let mut shape = draw.shape(0, 2)?;
        shape.push(draw.reduced()?);
        let dtype = draw.dtype(NORM.support)?;
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: |case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
        if gradient_of_nothing(case) {
            return Contract::Unspecified("gradients of nothing");
        }
        if x.dtype.is_float() { Contract::accepts(x.dtype, &[]) } else { Contract::Rejects(why::DTYPE) }
    },
    call: |call| Ok(vec![call.tensor("x")?.norm()?]),
    source: "x.norm()?",
    torch: "torch.linalg.vector_norm(x)",
    reference: Some(|inputs| {
        let x = inputs.array("x");
        // The subgradient at 0 is 0.
        let zero = x.iter().all(|x| x.value == 0.0);
        scalar(if zero { Num::exact(0.0) } else { Num::sum(x.iter().map(|&x| x * x)).sqrt() })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1441-1459 (integers are refused there); torch.linalg.vector_norm, whose gradient \
              at 0 is the subgradient 0",
};

const FLOAT: Support = Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

/// Why candle may refuse a reduction without elements: `Error::EmptyTensor` is its explicit answer.
pub const NOTHING: &str = "candle reduces no empty tensor";

fn reduces_nothing(case: &Case) -> bool {
    let Some(x) = case.tensor("x") else { return false };
    reduces(case, x).iter().any(|&dim| x.shape.get(dim) == Some(&0))
}

fn summing(draw: &mut Draw, support: &Support) -> arbitrary::Result<Case> {
    let mut shape = draw.shape(0, 3)?;
    shape.insert(draw.between(0, shape.len())?, draw.reduced()?);
    let dtype = draw.dtype(support)?;
    // Small integers: few sums overflow.
    let x = if dtype.is_float() { draw.tensor(dtype, &shape)? } else { draw.ids(dtype, &shape, 4)? };
    let mut case = Case::default().input("x", x).param("form", *draw.choose(&["", "", "keepdim", "all"])?);
    if case.text("form") != "all" {
        let first = draw.between(0, shape.len() - 1)?;
        for (offset, name) in DIMS.iter().enumerate().take(draw.between(1, shape.len().min(3))?) {
            case = case.param(name, (first + offset) % shape.len());
        }
    }
    case.backward = draw.backward()?;
    Ok(case)
}

/// The contract of a sum over dimensions; `divides` tells which sums of integers, and over how many, have an integer
/// result.
fn summed(case: &Case, divides: impl Fn(i64, i64) -> bool) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
    let dims = reduces(case, x);
    if dims.iter().any(|&dim| dim >= x.shape.len()) {
        return Contract::Rejects(why::DIM);
    }
    if (1..dims.len()).any(|place| dims[..place].contains(&dims[place])) {
        return Contract::Rejects("a dimension named twice");
    }
    if gradient_of_nothing(case) {
        return Contract::Unspecified("gradients of nothing");
    }
    if dims.is_empty() && case.text("form") != "all" {
        return Contract::Unspecified("a reduction over no dimension");
    }
    if !x.dtype.is_float() {
        if overflows(x, &dims) {
            return Contract::Unspecified("integer overflow");
        }
        let fits = |lane: &[Num]| divides(lane.iter().map(|x| x.value as i64).sum(), lane.len() as i64);
        if !lanes(&ReferenceInputs::new(case).array("x"), &dims).1.iter().all(|lane| fits(lane)) {
            return Contract::Unspecified("a mean between integers");
        }
    }
    Contract::accepts(x.dtype, &left(&x.shape, &dims, case.text("form") == "keepdim"))
}

/// `f` of every lane along the dimensions that the case reduces.
fn over_dims(inputs: &ReferenceInputs, f: impl Fn(&[Num]) -> Num) -> Vec<ArrayD<Num>> {
    let x = inputs.array("x");
    let all: Vec<usize> = (0..x.ndim()).collect();
    let dims = if inputs.case.text("form") == "all" { all } else { listed(inputs.case) };
    reduced(&x, &dims, inputs.case.text("form") == "keepdim", f)
}
