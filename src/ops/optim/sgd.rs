//! `SGD`.

use candle_core::Var;
use candle_nn::{Optimizer, SGD};

use crate::case::{InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::Op;
use crate::ops::support::models::optimizer::{OPTIMIZER_SUPPORT, contract, descend, generate, per_element};

/// `theta - lr * grad[step]` for every step.
pub static SGD_STEPS: Op = Op {
    name: "optim.sgd",
    covers: &["SGD", "optim::Optimizer", "Optimizer::backward_step", "Optimizer::from_slice", "SGD::push"],
    support: OPTIMIZER_SUPPORT,
    inputs: &[
        InputSpec::new("theta", "of any shape: the parameter"),
        InputSpec::new("grad", "(steps, ..): the gradient of each step"),
    ],
    params: &[
        ParamSpec::word(
            "form",
            &["backward_step", "step", "push", "from_slice"],
            "How the optimizer is made and called.",
        ),
        ParamSpec::float("lr", 0.1, "The learning rate."),
    ],
    generate: &generate,
    contract: &contract,
    call: &|call| {
        let theta = Var::from_tensor(call.tensor("theta")?)?;
        let lr = call.case.float("lr");
        let mut optimizer = match call.case.text("form") {
            "push" => {
                let mut empty = SGD::empty(lr)?;
                empty.push(&theta);
                empty
            }
            "from_slice" => SGD::from_slice(&[&theta], lr)?,
            _ => SGD::new(vec![theta.clone()], lr)?,
        };
        descend(call, &mut optimizer, &theta)
    },
    source: r#"
        let theta = Var::from_tensor(&theta)?;
        {% if form == "push" %}
        let mut optimizer = candle_nn::SGD::empty({{ lr }})?;
        optimizer.push(&theta);
        {% elif form == "from_slice" %}
        let mut optimizer = candle_nn::SGD::from_slice(&[&theta], {{ lr }})?;
        {% else %}
        let mut optimizer = candle_nn::SGD::new(vec![theta.clone()], {{ lr }})?;
        {% endif %}
        {% include 'descent' %}
    "#,
    torch: r#"
        theta = theta.clone().requires_grad_()
        optimizer = torch.optim.SGD([theta], lr={{ lr }})
        {% include "descent" %}
    "#,
    reference: Some(&|inputs| {
        let lr = inputs.case.float("lr");
        let step = |theta: Num, grad: &Num| theta - Num::constant(lr, grad.unit) * *grad;
        vec![per_element(inputs, |theta, grads| grads.iter().fold(theta, step))]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/optim.rs:29-84 (variables that are not floats are left out); torch.optim.SGD without momentum",
};
