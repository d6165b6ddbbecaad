//! What optimizers share: a few steps from the values `theta` along the gradients `grad`.

use candle_core::{IndexOp, Tensor as Candle, Var};
use candle_nn::Optimizer;
use ndarray::{ArrayD, Axis, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::{Call, Contract, ReferenceInputs, rule};
use crate::tensor::{DType, Support};

/// The dtypes of optimizers.
pub const OPTIMIZER_SUPPORT: &Support = &Support { of: "theta", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

/// A case of 1 to 3 steps.
pub fn generate(draw: &mut Draw) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(OPTIMIZER_SUPPORT)?;
    let shape = draw.open_shape(0, 3)?;
    let steps = *draw.choose(&[1, 1, 2, 3])?;
    let theta = draw.tensor(dtype, &shape)?;
    let grad = draw.tensor(dtype, &[&[steps], &shape[..]].concat())?;
    let form = *draw.choose(&["backward_step", "step", "push", "from_slice"])?;
    let case = Case::default().input("theta", theta).input("grad", grad).param("form", form);
    Ok(case.param("lr", *draw.choose(&[0.1, 0.01, 0.001, 1.0])?))
}

/// Accepts ordinary steps of floats.
pub fn contract(case: &Case) -> Contract {
    let (Some(theta), Some(grad)) = (case.tensor("theta"), case.tensor("grad")) else {
        return Contract::Rejects(&rule::SHAPES);
    };
    if grad.shape.contains(&0) || grad.shape.first().is_some_and(|&steps| steps > 64) {
        return Contract::Unspecified("no steps, no values, or too many steps");
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
