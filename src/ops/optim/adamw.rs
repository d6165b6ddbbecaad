//! `AdamW`.

use candle_core::Var;
use candle_nn::{AdamW, Optimizer, ParamsAdamW};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::support::models::optimizer::{OPTIMIZER_SUPPORT, contract, descend, generate, per_element};
use crate::ops::{Contract, Op};

/// `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`, then
/// `theta (1 - lr wd) - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)`.
pub static ADAMW_STEPS: Op = Op {
    name: "optim.adamw",
    covers: &["AdamW", "ParamsAdamW", "optim::Optimizer", "AdamW::new_lr", "Optimizer::backward_step"],
    support: OPTIMIZER_SUPPORT,
    inputs: &[
        InputSpec::new("theta", "of any shape: the parameter"),
        InputSpec::new("grad", "(steps, ..): the gradient of each step"),
    ],
    params: &[
        ParamSpec::float("beta1", 0.9, "The decay of the mean.").optional(),
        ParamSpec::float("beta2", 0.999, "The decay of the squares.").optional(),
        ParamSpec::float("eps", 1e-8, "Added to the root of the squares.").optional(),
        ParamSpec::word(
            "form",
            &["backward_step", "step", "push", "from_slice"],
            "How the optimizer is made and called.",
        ),
        ParamSpec::float("lr", 0.001, "The learning rate."),
        ParamSpec::float("weight_decay", 0.01, "The decay of the parameter.").optional(),
    ],
    generate: &|draw| {
        let case = generate(draw)?;
        if draw.one_in(2)? {
            // The defaults, which candle and PyTorch share.
            return Ok(case);
        }
        let (eps, decay) = (*draw.choose(&[1e-8, 1e-8, 1e-6, 1e-3])?, *draw.choose(&[0.0, 0.01, 0.5])?);
        let (beta1, beta2) = (*draw.choose(&[0.9, 0.5, 0.0])?, *draw.choose(&[0.999, 0.9, 0.5])?);
        let case = case.param("eps", eps).param("weight_decay", decay);
        Ok(case.param("beta1", beta1).param("beta2", beta2))
    },
    contract: &|case| {
        let ParamsAdamW { beta1, beta2, eps, weight_decay, .. } = params(case);
        let is_decay = |beta: f64| (0.0..1.0).contains(&beta);
        let is_size = |number: f64| number >= 0.0 && number.is_finite();
        if !is_decay(beta1) || !is_decay(beta2) || !is_size(eps) || !is_size(weight_decay) {
            return Contract::Unspecified("a hyperparameter out of its range");
        }
        contract(case)
    },
    call: &|call| {
        let theta = Var::from_tensor(call.tensor("theta")?)?;
        let params = params(call.case);
        let vars = vec![theta.clone()];
        let has = |name: &str| call.case.params.contains_key(name);
        let mut optimizer = if ["beta1", "beta2", "eps", "weight_decay"].into_iter().any(has) {
            AdamW::new(vars, params)?
        } else {
            AdamW::new_lr(vars, params.lr)?
        };
        descend(call, &mut optimizer, &theta)
    },
    source: r#"
        let theta = Var::from_tensor(&theta)?;
        {% if beta1 is defined or beta2 is defined or eps is defined or weight_decay is defined %}
        let params = candle_nn::ParamsAdamW {
            lr: {{ lr }},
            {% for name in ["beta1", "beta2", "eps", "weight_decay"] if name in params %}
            {{ name }}: {{ params[name] }},
            {% endfor %}
            ..Default::default()
        };
        let mut optimizer = candle_nn::AdamW::new(vec![theta.clone()], params)?;
        {% else %}
        let mut optimizer = candle_nn::AdamW::new_lr(vec![theta.clone()], {{ lr }})?;
        {% endif %}
        {% include 'descent' %}
    "#,
    torch: r#"
        {% set betas = "(" ~ beta1|default("0.9") ~ ", " ~ beta2|default("0.999") ~ ")" %}
        {% set eps, decay = eps|default("1e-8"), weight_decay|default("0.01") %}
        theta = theta.clone().requires_grad_()
        optimizer = torch.optim.AdamW([theta], lr={{ lr }}, betas={{ betas }}, eps={{ eps }}, weight_decay={{ decay }})
        {% include "descent" %}
    "#,
    reference: Some(&|inputs| vec![per_element(inputs, |theta, grads| adamw(&params(inputs.case), theta, grads))]),
    ulps: 8.0,
    differentiable: &[],
    promise: "candle-nn/src/optim.rs:86-200, candle-nn/tests/optim.rs (PyTorch's results); torch.optim.AdamW (the \
              algorithm of its documentation)",
};

fn params(case: &Case) -> ParamsAdamW {
    let usual = ParamsAdamW::default();
    ParamsAdamW {
        lr: case.float("lr"),
        beta1: case.optional_float("beta1").unwrap_or(usual.beta1),
        beta2: case.optional_float("beta2").unwrap_or(usual.beta2),
        eps: case.optional_float("eps").unwrap_or(usual.eps),
        weight_decay: case.optional_float("weight_decay").unwrap_or(usual.weight_decay),
    }
}

fn adamw(params: &ParamsAdamW, start: Num, grads: &[Num]) -> Num {
    let ParamsAdamW { lr, beta1, beta2, eps, weight_decay } = *params;
    // The constants are cast to the dtype.
    let constant = |value| Num::constant(value, start.unit);
    let (mut theta, mut first, mut second) = (start, constant(0.0), constant(0.0));
    for (t, &grad) in (1..).zip(grads) {
        first = constant(beta1) * first + constant(1.0 - beta1) * grad;
        second = constant(beta2) * second + constant(1.0 - beta2) * (grad * grad);
        let (mean, square) = (first / constant(1.0 - beta1.powi(t)), second / constant(1.0 - beta2.powi(t)));
        // If squares and eps underflow, as in f16, the error bound is infinite: PyTorch's AdamW divides by 0 there too.
        let step = mean / (square.sqrt() + constant(eps));
        theta = theta * constant(1.0 - lr * weight_decay) - constant(lr) * step;
    }
    // If a value is infinite, or its square overflows the dtype, the result is open.
    let peak = start.peak.max(first.peak).max(second.peak);
    Num { peak: if peak.is_finite() { theta.peak.max(peak) } else { f64::INFINITY }, ..theta }
}
