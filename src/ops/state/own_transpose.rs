//! A product of a matrix and its own transpose.

use ndarray::Ix2;

use crate::case::InputSpec;
use crate::number::Num;
use crate::ops::support::elements::nonempty_floats::{FLOATS, float_contract, floats_of};
use crate::ops::support::moving::gather_map::{affordable, shape_of};
use crate::ops::{Contract, Op, why};
use crate::tensor::DType;

/// `x.matmul(x.t())` of a matrix.
pub static OWN_TRANSPOSE: Op = Op {
    name: "state.own_transpose",
    covers: &["Tensor::matmul", "Tensor::t"],
    support: FLOATS,
    inputs: &[InputSpec::new("x", "a square matrix")],
    params: &[],
    generate: &|draw| {
        let shape = [draw.positive()?, draw.reduced()?];
        floats_of(draw, &["x"], &shape)
    },
    contract: &|case| {
        let shape = shape_of(case);
        let dtype = case.tensor("x").map_or(DType::F32, |x| x.dtype);
        let [batch @ .., rows, _] = shape.as_slice() else { return Contract::Unspecified("not a matrix") };
        let product = affordable(dtype, &[batch, &[*rows, *rows]].concat());
        match product {
            Contract::Accepts { .. } if !batch.is_empty() => Contract::Unspecified("not a matrix"),
            Contract::Accepts { .. } if shape.contains(&0) => Contract::Unspecified("a product without elements"),
            Contract::Accepts { .. } => {
                let strided = case.tensor("x").is_some_and(|x| !x.view.is_contiguous());
                let Contract::Accepts { .. } = float_contract(case) else { return float_contract(case) };
                product.may_refuse(strided, why::CONTIGUOUS)
            }
            too_large => too_large,
        }
    },
    call: &|call| {
        let x = call.tensor("x")?;
        Ok(vec![x.matmul(&x.t()?)?])
    },
    source: "x.matmul(&x.t()?)?",
    // This is about candle's own state.
    torch: "",
    reference: Some(&|inputs| {
        let x = inputs.array("x").into_dimensionality::<Ix2>().expect("a matrix");
        let product = |(i, j)| Num::dot(x.row(i).iter().copied().zip(x.row(j).iter().copied()));
        vec![ndarray::Array2::from_shape_fn((x.nrows(), x.nrows()), product).into_dyn()]
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1477-1556: `matmul` accepts a transposed operand, as torch.matmul",
};
