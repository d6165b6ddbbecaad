//! `Tensor::detach`: a tensor without a gradient.

use candle_core::{Tensor, Var};
use ndarray::ArrayD;

use crate::case::InputSpec;
use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::nonempty_floats::{FLOATS, draw_floats, with_second};
use crate::ops::{Contract, Op};
use crate::tensor::DType;

/// Gradients of `(x.detach() * w).sum()`: whether `x` has one, and that of `w`.
pub static DETACH: Op = Op {
    name: "state.detach",
    covers: &["Tensor::detach", "Var::as_detached_tensor"],
    support: FLOATS,
    inputs: &[ANY, InputSpec::new("w", "shaped as `x`")],
    params: &[],
    generate: &|draw| draw_floats(draw, &["x", "w"]),
    contract: &|case| match with_second(case, "w", (DType::U8, vec![1])) {
        Contract::Accepts { mut outputs, refusal } => {
            outputs.remove(0);
            Contract::Accepts { outputs, refusal }
        }
        other => other,
    },
    call: &|call| {
        let (x, w) = (Var::from_tensor(call.tensor("x")?)?, Var::from_tensor(call.tensor("w")?)?);
        let loss = ((x.detach() * w.as_tensor())? + x.as_detached_tensor())?.sum_all()?;
        let grads = loss.backward()?;
        let found = [grads.get(&x).is_some()];
        let grad = grads.get(&w).ok_or_else(|| candle_core::Error::Msg("w has no gradient".into()))?;
        Ok(vec![grad.clone(), Tensor::new(&found.map(u8::from), w.device())?])
    },
    source: r#"
        let (x, w) = (Var::from_tensor(&x)?, Var::from_tensor(&w)?);
        let loss = ((x.detach() * w.as_tensor())? + x.as_detached_tensor())?.sum_all()?;
        let grads = loss.backward()?;
        let found = u8::from(grads.get(&x).is_some());
        let outputs = [grads.get(&w).expect("a gradient").clone(), Tensor::new(&[found], &device)?];
    "#,
    // This is about candle's own state.
    torch: "",
    reference: Some(&|inputs| {
        // Backward adds gradients to zeros, which may flush subnormals.
        let gradient = inputs.array("x").mapv(|x| x + Num::exact(0.0));
        vec![gradient, ArrayD::from_elem(ndarray::IxDyn(&[1]), Num::exact(0.0))]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:2376-2394 (\"detached from the current graph, gradient are not propagated\"); \
              torch.Tensor.detach",
};
