//! In-place writes of a tensor into itself.

use candle_core::{Tensor, Var};
use ndarray::ArrayD;

use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::nonempty_floats::{FLOATS, draw_floats, nonempty_contract};
use crate::ops::support::moving::gather_map::shape_of;
use crate::ops::{Contract, Op};
use crate::tensor::DType;

/// Whether each in-place write of a tensor into itself is refused, and the tensor, which must be unchanged.
pub static OWN_STORAGE: Op = Op {
    name: "state.own_storage",
    covers: &["Tensor::slice_set", "Tensor::scatter_set", "Tensor::scatter_add_set", "Var::set"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| draw_floats(draw, &["x"]),
    contract: &|case| match nonempty_contract(case, "an empty part") {
        Contract::Accepts { .. } if shape_of(case).is_empty() => Contract::Unspecified("a part of a scalar"),
        Contract::Accepts { mut outputs, refusal } => {
            outputs.insert(0, (DType::U8, vec![4]));
            Contract::Accepts { outputs, refusal }
        }
        other => other,
    },
    call: &|call| {
        let x = call.tensor("x")?.force_contiguous()?;
        let part = x.narrow(0, 0, 1)?;
        let ids = Tensor::zeros(part.shape(), candle_core::DType::U32, x.device())?;
        let var = Var::from_tensor(&x)?;
        let refused = [
            x.slice_set(&part, 0, 0).is_err(),
            x.scatter_set(&ids, &part, 0).is_err(),
            x.scatter_add_set(&ids, &part, 0).is_err(),
            var.set(&var.as_tensor().flatten_all()?.reshape(x.shape())?).is_err(),
        ];
        Ok(vec![Tensor::new(&refused.map(u8::from), x.device())?, x])
    },
    source: r"
        let x = x.force_contiguous()?;
        let part = x.narrow(0, 0, 1)?;
        let ids = Tensor::zeros(part.shape(), DType::U32, &device)?;
        let var = Var::from_tensor(&x)?;
        let refused = [
            x.slice_set(&part, 0, 0).is_err(),
            x.scatter_set(&ids, &part, 0).is_err(),
            x.scatter_add_set(&ids, &part, 0).is_err(),
            var.set(&var.as_tensor().flatten_all()?.reshape(x.shape())?).is_err(),
        ];
        let outputs = [Tensor::new(&refused.map(u8::from), &device)?, x];
    ",
    // This is about candle's own state.
    torch: "",
    reference: Some(&|inputs| {
        let refused = ArrayD::from_elem(ndarray::IxDyn(&[4]), Num::exact(1.0));
        vec![refused, inputs.array("x")]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor_cat.rs:258-260, tensor.rs:1694-1735, variable.rs (\"cannot set a variable to a \
              tensor \
              that is derived from its value\")",
};
