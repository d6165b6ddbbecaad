//! `softmax`, its fused form `softmax_last_dim`, and `log_softmax`.

use candle_nn::ops;
use ndarray::{ArrayD, Axis};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::ids::dim;
use crate::ops::support::reductions::{EMPTY, gradient_of_nothing};
use crate::ops::{Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support};

/// `candle_nn::ops::softmax_last_dim(x)`: `exp(x) / sum(exp(x))` over the last dimension.
pub static SOFTMAX_LAST_DIM: Op = Op {
    name: "op.softmax_last_dim",
    covers: &["ops::softmax_last_dim"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| {
        let mut shape = draw.shape(0, 3)?;
        shape.push(draw.reduced()?);
        case(draw, SOFTMAX_LAST_DIM.support, &shape)
    },
    contract: |case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
        if x.shape.is_empty() {
            return Contract::Rejects(why::RANK);
        }
        if !x.dtype.is_float() {
            return Contract::Unspecified("softmax of integers");
        }
        Contract::accepts(x.dtype, &x.shape).may_refuse(!x.view.is_contiguous(), why::CONTIGUOUS)
    },
    call: |call| Ok(vec![ops::softmax_last_dim(call.tensor("x")?)?]),
    source: "candle_nn::ops::softmax_last_dim(&x)?",
    torch: "x.softmax(dim=-1)",
    reference: Some(|inputs| along(inputs, None, softmax)),
    promise: "candle-nn/src/ops.rs:284-439: the fused form of ops::softmax (ops.rs:7-30), which has a gradient; \
              torch.softmax",
    ulps: 4.0,
    differentiable: &["x"],
};

/// `candle_nn::ops::softmax(x, dim)`: `exp(x) / sum(exp(x))` over `dim`.
pub static SOFTMAX: Op = Op {
    name: "op.softmax",
    covers: &["ops::softmax"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: LOG_SOFTMAX.generate,
    contract: LOG_SOFTMAX.contract,
    call: |call| Ok(vec![ops::softmax(call.tensor("x")?, call.size("dim", 0))?]),
    source: "candle_nn::ops::softmax(&x, {{ dim|default(0) }})?",
    torch: "x.softmax(dim={{ dim|default(0) }})",
    reference: Some(|inputs| along(inputs, Some(over(inputs)), softmax)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:7-30; torch.softmax",
};

/// `candle_nn::ops::log_softmax(x, dim)`: `x - ln(sum(exp(x)))` over `dim`.
pub static LOG_SOFTMAX: Op = Op {
    name: "op.log_softmax",
    covers: &["ops::log_softmax"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: |draw| {
        let mut shape = draw.shape(0, 2)?;
        let dim = draw.between(0, shape.len())?;
        shape.insert(dim, draw.reduced()?.max(1));
        Ok(case(draw, LOG_SOFTMAX.support, &shape)?.param("dim", dim))
    },
    contract: |case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
        let Some(dim) = dim(case, x) else { return Contract::Rejects(why::DIM) };
        if !x.dtype.is_float() {
            return Contract::Unspecified("softmax of integers");
        }
        if x.shape[dim] == 0 {
            return Contract::Unspecified("the maximum of nothing");
        }
        if gradient_of_nothing(case) {
            return Contract::Unspecified("gradients of nothing");
        }
        Contract::accepts(x.dtype, &x.shape).may_refuse(x.shape.contains(&0), EMPTY)
    },
    call: |call| Ok(vec![ops::log_softmax(call.tensor("x")?, call.size("dim", 0))?]),
    source: "candle_nn::ops::log_softmax(&x, {{ dim|default(0) }})?",
    torch: "x.log_softmax(dim={{ dim|default(0) }})",
    reference: Some(|inputs| {
        along(inputs, Some(over(inputs)), |x, log_sum_exp| if vanishes(x, log_sum_exp) { x } else { x - log_sum_exp })
    }),
    promise: "candle-nn/src/ops.rs:32-39; torch.log_softmax",
    ulps: 4.0,
    differentiable: &["x"],
};

/// An element of a softmax. What is masked by -inf has no share, whatever else is in the row.
fn softmax(x: Num, log_sum_exp: Num) -> Num {
    if vanishes(x, log_sum_exp) { Num::exact(0.0) } else { (x - log_sum_exp).exp() }
}

/// Whether `x` is -inf in a row of finite size.
fn vanishes(x: Num, log_sum_exp: Num) -> bool {
    x.value == f64::NEG_INFINITY && log_sum_exp.value.is_finite()
}

/// The dimension of the case.
fn over(inputs: &ReferenceInputs) -> usize {
    usize::try_from(inputs.case.int("dim", 0)).unwrap_or(0)
}

fn case(draw: &mut Draw, support: &Support, shape: &[usize]) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let mut case = Case::default().input("x", draw.tensor(dtype, shape)?);
    case.backward = draw.backward()?;
    Ok(case)
}

/// `f` of every element and `ln(sum(exp))` of the row along `dim` (the last one for `None`) that it stands in.
fn along(inputs: &ReferenceInputs, dim: Option<usize>, f: impl Fn(Num, Num) -> Num) -> Vec<ArrayD<Num>> {
    let mut x = inputs.array("x");
    if x.is_empty() {
        return vec![x];
    }
    let dim = dim.unwrap_or(x.ndim().saturating_sub(1));
    for mut lane in x.lanes_mut(Axis(dim)) {
        let row: Vec<Num> = lane.iter().copied().collect();
        let log_sum_exp = Num::log_sum_exp(&row);
        lane.iter_mut().for_each(|x| *x = f(*x, log_sum_exp));
    }
    vec![x]
}
