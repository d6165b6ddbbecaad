//! `Tensor::stack`.

use candle_core::Tensor as Candle;
use ndarray::Axis;

use crate::ops::support::arguments::{DIM, PARTS};
use crate::ops::support::moving::gather_map::affordable;
use crate::ops::support::moving::join::{
    OPERAND_SUPPORT, OPERANDS, concatenated, draw_operands, joinable, operands, tensors,
};
use crate::ops::{Contract, Op, rule};

/// `Tensor::stack(&[t0, t1, ..], dim)`: joins tensors of one shape along a new dimension.
pub static STACK: Op = Op {
    name: "tensor.stack",
    covers: &["Tensor::stack"],
    support: OPERAND_SUPPORT,
    inputs: PARTS,
    params: &[DIM],
    generate: &|draw| {
        let shape = draw.open_shape(0, 3)?;
        let dim = draw.between(0, shape.len())?;
        draw_operands(draw, dim, |_| Ok(shape.clone()))
    },
    contract: &|case| {
        let tensors = tensors(case);
        let dim = case.size("dim");
        match joinable(&tensors, |a, b| a == b) {
            Err(contract) => contract,
            Ok(first) if dim > first.shape.len() => Contract::Rejects(&rule::DIM),
            Ok(first) => {
                let mut shape = first.shape.clone();
                shape.insert(dim, tensors.len());
                affordable(first.dtype, &shape)
            }
        }
    },
    call: &|call| Ok(vec![Candle::stack(&operands(call), call.size("dim"))?]),
    source: "Tensor::stack(&[{{ list('t') }}], {{ dim }})?",
    torch: "torch.stack([{{ list('t') }}], dim={{ dim }})",
    reference: Some(&|inputs| concatenated(inputs, |array| array.insert_axis(Axis(inputs.case.size("dim"))))),
    ulps: 4.0,
    differentiable: &OPERANDS,
    promise: "candle-core/src/tensor.rs:2655-2682; torch.stack",
};
