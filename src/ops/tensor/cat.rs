//! `Tensor::cat`.

use candle_core::Tensor as Candle;

use crate::ops::support::arguments::{DIM, PARTS};
use crate::ops::support::moving::gather_map::affordable;
use crate::ops::support::moving::join::{
    OPERAND_SUPPORT, OPERANDS, concatenated, draw_operands, joinable, operands, tensors,
};
use crate::ops::{Contract, Op, rule};

/// `Tensor::cat(&[t0, t1, ..], dim)`: joins tensors that differ in `dim` only.
pub static CAT: Op = Op {
    name: "tensor.cat",
    covers: &["Tensor::cat"],
    support: OPERAND_SUPPORT,
    inputs: PARTS,
    params: &[DIM],
    generate: &|draw| {
        let mut shape = draw.open_shape(1, 3)?;
        let dim = draw.between(0, shape.len() - 1)?;
        draw_operands(draw, dim, |draw| {
            shape[dim] = draw.size()?;
            Ok(shape.clone())
        })
    },
    contract: &|case| {
        let tensors = tensors(case);
        let dim = case.size("dim");
        match joinable(&tensors, |a, b| a.len() == b.len() && (0..a.len()).all(|d| d == dim || a[d] == b[d])) {
            Err(contract) => contract,
            Ok(first) if dim >= first.shape.len() => Contract::Rejects(&rule::DIM),
            Ok(first) => {
                let mut shape = first.shape.clone();
                shape[dim] = tensors.iter().map(|tensor| tensor.shape[dim]).sum();
                affordable(first.dtype, &shape)
            }
        }
    },
    call: &|call| Ok(vec![Candle::cat(&operands(call), call.size("dim"))?]),
    source: "Tensor::cat(&[{{ list('t') }}], {{ dim }})?",
    torch: "torch.cat([{{ list('t') }}], dim={{ dim }})",
    reference: Some(&|inputs| concatenated(inputs, |array| array)),
    ulps: 4.0,
    differentiable: &OPERANDS,
    promise: "candle-core/src/tensor_cat.rs:4-70; torch.cat",
};
