//! `Sequential`, `Func`, `FuncT` and `Identity`.

use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::dtypes::FLOATS_AND_F8;
use crate::ops::support::elements::elementwise::{case, of_floats};
use crate::ops::{Contract, Op};

/// `Sequential` of `Identity`, and of closures that square and add 1: all outputs, and the last one again.
pub static SEQUENTIAL: Op = Op {
    name: "layer.sequential",
    covers: &[
        "Sequential",
        "sequential::seq",
        "Func",
        "func::func",
        "FuncT",
        "func::func_t",
        "Identity",
        "Tensor::apply",
        "Tensor::apply_t",
        "Identity::new",
        "Sequential::add",
        "Sequential::add_fn",
        "Sequential::forward_all",
    ],
    support: FLOATS_AND_F8,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| case(draw, FLOATS_AND_F8),
    contract: &|case| match of_floats(case) {
        Contract::Accepts { outputs, refusal } => {
            Contract::Accepts { outputs: outputs.iter().cycle().take(5).cloned().collect(), refusal }
        }
        other => other,
    },
    call: &|call| {
        let x = call.tensor("x")?;
        let layers = candle_nn::seq().add(candle_nn::ops::Identity::new()).add_fn(candle_core::Tensor::sqr);
        let layers = layers.add(candle_nn::func(|x| x + 1.0));
        let mut outputs = layers.forward_all(x)?;
        outputs.push(x.apply(&layers)?);
        let halved = candle_nn::func_t(|x, train| if train { x * 0.5 } else { Ok(x.clone()) });
        outputs.push(x.apply_t(&halved, true)?);
        Ok(outputs)
    },
    source: r"
        let layers = candle_nn::seq().add(candle_nn::ops::Identity::new()).add_fn(Tensor::sqr);
        let layers = layers.add(candle_nn::func(|x| x + 1.0));
        let mut outputs = layers.forward_all(&x)?;
        outputs.push(x.apply(&layers)?);
        let halved = candle_nn::func_t(|x, train| if train { x * 0.5 } else { Ok(x.clone()) });
        outputs.push(x.apply_t(&halved, true)?);
    ",
    // `torch.nn.Sequential` returns its last output only.
    torch: "",
    reference: Some(&|inputs| {
        let x = inputs.array("x");
        let (square, next) = (x.mapv(Num::sqr), x.mapv(|x| x.sqr() + Num::exact(1.0)));
        let halved = x.mapv(|x| x * Num::exact(0.5));
        vec![x, square, next.clone(), next, halved]
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/sequential.rs, func.rs, ops.rs (Identity); torch.nn.Sequential and torch.nn.Identity",
};
