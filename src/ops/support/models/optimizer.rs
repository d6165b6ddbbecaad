//! What optimizers share: a few steps from the values `theta` along the gradients `grad`.

use candle_core::{IndexOp, Tensor as Candle, Var};
use candle_nn::Optimizer;
use ndarray::{ArrayD, Axis, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::{Call, Contract, ReferenceInputs, rule, why};
use crate::tensor::{DType, Support, View, product};

/// The dtypes of optimizers.
pub const OPTIMIZER_SUPPORT: &Support = &Support { of: "theta", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

/// The most steps that a contract judges.
const MOST_STEPS: usize = 10_000;
/// The most elements of the gradients of all steps.
const MOST_ELEMENTS: usize = 1 << 22;

/// A case of 1 to 3 steps, or of many along one gradient, so that counters count far.
pub fn generate(draw: &mut Draw) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(OPTIMIZER_SUPPORT)?;
    let shape = draw.open_shape(0, 3)?;
    let steps = *draw.choose(&[1, 1, 2, 3])?;
    let theta = draw.tensor(dtype, &shape)?;
    let is_small = product(&shape).is_some_and(|count| count <= 64);
    let grad = if is_small && draw.one_in(16)? {
        let steps = *draw.choose(&[50, 300, 1000])?;
        let same = View { broadcast: vec![0], ..View::default() };
        draw.tensor_in(dtype, &[&[steps], &shape[..]].concat(), same)?
    } else {
        draw.tensor(dtype, &[&[steps], &shape[..]].concat())?
    };
    let form = *draw.choose(&["backward_step", "step", "push", "from_slice"])?;
    let case = Case::default().input("theta", theta).input("grad", grad).param("form", form);
    Ok(case.param("lr", *draw.choose(&[0.1, 0.01, 0.001, 1.0])?))
}

/// Accepts ordinary steps of floats.
pub fn contract(case: &Case) -> Contract {
    let (Some(theta), Some(grad)) = (case.tensor("theta"), case.tensor("grad")) else {
        return Contract::Rejects(&rule::SHAPES);
    };
    if grad.shape.contains(&0) {
        return Contract::Unspecified("no steps, or no values");
    }
    let is_long = grad.shape.first().is_some_and(|&steps| steps > MOST_STEPS);
    if is_long || product(&grad.shape).is_none_or(|count| count > MOST_ELEMENTS) {
        return Contract::Unspecified(why::TOO_LARGE);
    }
    if grad.shape.len() != theta.shape.len() + 1 || grad.shape[1..] != theta.shape {
        return Contract::Rejects(&rule::SHAPES);
    }
    if theta.dtype != grad.dtype {
        return Contract::Rejects(&rule::MIXED);
    }
    if !theta.dtype.is_float() {
        return match case.text("form") {
            "push" => Contract::Rejects(&rule::OPTIMIZER),
            // Those that are made of variables leave these out.
            _ => Contract::accepts(theta.dtype, &theta.shape).may_refuse(true, "an optimizer of integers"),
        };
    }
    let rate = case.float("lr");
    if !(rate >= 0.0 && rate.is_finite()) {
        return Contract::Unspecified("a learning rate that is negative or not finite");
    }
    Contract::accepts(theta.dtype, &theta.shape)
}

/// One step along each gradient: the gradient of `sum(theta * grad)` is `grad`.
pub fn descend(call: &Call, optimizer: &mut impl Optimizer, theta: &Var) -> candle_core::Result<Vec<Candle>> {
    let grads = call.tensor("grad")?;
    for step in 0..grads.dim(0)? {
        let loss = (theta.as_tensor() * grads.i(step)?)?.sum_all()?;
        if call.case.text("form") == "step" {
            optimizer.step(&loss.backward()?)?;
        } else {
            optimizer.backward_step(&loss)?;
        }
    }
    Ok(vec![theta.as_detached_tensor().copy()?])
}

/// `next` of each element and its gradients. Integers stay as they are.
pub fn per_element(inputs: &ReferenceInputs, next: impl Fn(Num, &[Num]) -> Num) -> ArrayD<Num> {
    let (theta, grad) = (inputs.array("theta"), inputs.array("grad"));
    if inputs.case.tensor("theta").is_some_and(|theta| !theta.dtype.is_float()) {
        return theta;
    }
    ArrayD::from_shape_fn(IxDyn(theta.shape()), |at| {
        let grads: Vec<Num> = grad.axis_iter(Axis(0)).map(|grad| grad[&at]).collect();
        next(theta[&at], &grads)
    })
}
