//! `Var::set`: a variable that changes.

use candle_core::{Tensor, Var};
use ndarray::ArrayD;

use crate::case::InputSpec;
use crate::number::Num;
use crate::ops::Op;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::nonempty_floats::{FLOATS, draw_floats, with_second};
use crate::tensor::DType;

/// `var.set(y)` of a variable with the value `x`: the variable's value afterwards, a result from before, and whether it still has
/// a gradient.
pub static VAR_SET: Op = Op {
    name: "state.var_set",
    covers: &["Var::set", "Var::from_tensor", "Var::as_tensor"],
    support: FLOATS,
    inputs: &[ANY, InputSpec::new("y", "shaped as `x`: the new values")],
    params: &[],
    generate: &|draw| draw_floats(draw, &["x", "y"]),
    contract: &|case| with_second(case, "y", (DType::U8, vec![1])),
    call: &|call| {
        let var = Var::from_tensor(call.tensor("x")?)?;
        let alias = var.as_detached_tensor();
        let before = (var.as_tensor() * 2.0)?;
        var.set(call.tensor("y")?)?;
        let found = before.sum_all()?.backward()?.get(&var).is_some();
        Ok(vec![alias, before.detach(), Tensor::new(&[u8::from(found)], call.tensor("x")?.device())?])
    },
    source: r"
        let var = Var::from_tensor(&x)?;
        let alias = var.as_tensor().clone();
        let before = (var.as_tensor() * 2.0)?;
        var.set(&y)?;
        let found = before.sum_all()?.backward()?.get(&var).is_some();
        let outputs = [alias, before, Tensor::new(&[u8::from(found)], &device)?];
    ",
    // This is about candle's own state.
    torch: "",
    reference: Some(&|inputs| {
        let two = Num::exact(2.0);
        let found = ArrayD::from_elem(ndarray::IxDyn(&[1]), Num::exact(1.0));
        vec![inputs.array("y"), inputs.array("x").mapv(|x| x * two), found]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/variable.rs:118-146 (\"Sets the content of the inner tensor\"); torch.Tensor.copy_",
};
