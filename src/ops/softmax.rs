//! `softmax_last_dim` (the fused one) and `log_softmax`.

use candle_nn::ops;
use ndarray::{ArrayD, Axis};

use super::rules::dim;
use super::{Contract, Given, Op, why};
use crate::case::Case;
use crate::number::Num;
use crate::tensor::{DType, Support};

/// `candle_nn::ops::softmax_last_dim(x)`: `exp(x) / sum(exp(x))` over the last dimension.
pub static SOFTMAX_LAST_DIM: Op = Op {
    name: "op.softmax_last_dim",
    covers: &["ops::softmax_last_dim"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| {
        let mut shape = draw.shape(0, 3)?;
        shape.push(draw.reduced()?);
        case(draw, &shape)
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
    reference: Some(|given| along(given, None, |x, log_sum_exp| (x - log_sum_exp).exp())),
    promise: "candle-nn/src/ops.rs:284-439: the fused form of ops::softmax (ops.rs:7-30), which has a gradient; \
              torch.softmax",
    ulps: 4.0,
    differentiable: &["x"],
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
        Ok(case(draw, &shape)?.param("dim", dim))
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
        // `Error::EmptyTensor` is candle's explicit answer to a reduction without elements.
        let contract =
            Contract::accepts(x.dtype, &x.shape).may_refuse(x.shape.contains(&0), "candle reduces no empty tensor");
        contract
    },
    call: |call| Ok(vec![ops::log_softmax(call.tensor("x")?, call.size("dim", 0))?]),
    source: "candle_nn::ops::log_softmax(&x, dim)?",
    reference: Some(|given| {
        let dim = usize::try_from(given.case.int("dim", 0)).unwrap_or(0);
        along(given, Some(dim), |x, log_sum_exp| x - log_sum_exp)
    }),
    promise: "candle-nn/src/ops.rs:32-39; torch.log_softmax",
    ulps: 4.0,
    differentiable: &["x"],
};

fn case(draw: &mut crate::generate::Draw, shape: &[usize]) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(LOG_SOFTMAX.support)?;
    let mut case = Case::default().input("x", draw.tensor(dtype, shape)?);
    case.backward = draw.backward()?;
    Ok(case)
}

/// `f` of every element and `ln(sum(exp))` of the row along `dim` (the last one for `None`) that it stands in.
fn along(given: &Given, dim: Option<usize>, f: impl Fn(Num, Num) -> Num) -> Vec<ArrayD<Num>> {
    let mut x = given.array("x");
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
