//! Two backward passes over one graph.

use candle_core::{Tensor, Var};

use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::nonempty_floats::{FLOATS, draw_floats, float_contract};
use crate::ops::{Contract, Op};

/// The gradient of `(x * x).sum()`, computed twice.
pub static BACKWARD_AGAIN: Op = Op {
    name: "state.backward_again",
    covers: &["Tensor::backward", "GradStore"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| draw_floats(draw, &["x"]),
    contract: &|case| match float_contract(case) {
        Contract::Accepts { outputs, refusal } => Contract::Accepts { outputs: vec![outputs[0].clone(); 2], refusal },
        other => other,
    },
    call: &|call| {
        let x = Var::from_tensor(call.tensor("x")?)?;
        let loss = (x.as_tensor() * x.as_tensor())?.sum_all()?;
        let grad = || {
            loss.backward()?.get(&x).map(Tensor::detach).ok_or_else(|| candle_core::Error::Msg("no gradient".into()))
        };
        Ok(vec![grad()?, grad()?])
    },
    source: r#"
        let x = Var::from_tensor(&x)?;
        let loss = (x.as_tensor() * x.as_tensor())?.sum_all()?;
        let [first, second] = [loss.backward()?, loss.backward()?];
        let outputs = [first, second].map(|grads| grads.get(&x).expect("a gradient").clone());
    "#,
    // This is about candle's own state.
    torch: "",
    reference: Some(&|inputs| {
        let grad = inputs.array("x").mapv(|x| {
            // Of each factor: that of the product, which is 1, times the other factor.
            let of_a_factor = Num { peak: x.peak, ..Num::exact(1.0) * x };
            of_a_factor + of_a_factor
        });
        vec![grad.clone(), grad]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/backprop.rs: each call returns its own store; torch.autograd with retain_graph",
};
