//! `nn::Linear`.

use candle_core::Module;
use ndarray::{ArrayD, Axis, IxDyn};

use super::{Contract, Op, why};
use crate::case::Case;
use crate::number::Num;
use crate::tensor::{DType, Support};

/// `Linear::new(weight (O, I), bias (O)?)` of `x (.., I)`: `x @ weight^T + bias`.
pub static LINEAR: Op = Op {
    name: "layer.linear",
    covers: &["Linear"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| {
        let dtype = draw.dtype(LINEAR.support)?;
        let mut shape = draw.shape(1, 3)?;
        let (inner, outer) = (draw.reduced()?, draw.size()?);
        shape.push(inner);
        let x = draw.tensor(dtype, &shape)?;
        let mut case = Case::default().input("x", x).input("weight", draw.tensor(dtype, &[outer, inner])?);
        if draw.one_in(2)? {
            case = case.input("bias", draw.tensor(dtype, &[outer])?);
        }
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: |case| {
        let (Some(x), Some(weight)) = (case.tensor("x"), case.tensor("weight")) else {
            return Contract::Rejects(why::SHAPES);
        };
        if weight.shape.len() != 2 || x.shape.is_empty() {
            return Contract::Rejects(why::RANK);
        }
        let (outer, inner) = (weight.shape[0], weight.shape[1]);
        if x.shape.last() != Some(&inner) {
            return Contract::Rejects(why::SHAPES);
        }
        if !(2..=4).contains(&x.shape.len()) {
            return Contract::Unspecified("an input of one, or of more than four dimensions");
        }
        // Candle's answers to products without elements are its own: Ok for most, an Err for some, no gradients.
        if x.shape.contains(&0) || weight.shape.contains(&0) {
            return Contract::Unspecified("a product without elements");
        }
        if weight.dtype != x.dtype {
            return Contract::Rejects(why::MIXED);
        }
        if let Some(bias) = case.tensor("bias") {
            if bias.shape != [outer] {
                return Contract::Unspecified("a bias that is not one value per output");
            }
            if bias.dtype != x.dtype {
                return Contract::Rejects(why::MIXED);
            }
        }
        let mut shape = x.shape.clone();
        *shape.last_mut().expect("at least two dimensions") = outer;
        let contract = Contract::accepts(x.dtype, &shape);
        contract.may_refuse(!weight.view.is_contiguous(), why::CONTIGUOUS)
    },
    call: |call| {
        let layer = candle_nn::Linear::new(call.tensor("weight")?.clone(), call.optional("bias").cloned());
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: "candle_nn::Linear::new(weight.clone(), bias.clone()).forward(&x)?",
    reference: Some(|given| {
        let (x, weight, bias) = (given.array("x"), given.array("weight"), given.optional("bias"));
        let (outer, last) = (weight.shape()[0], x.ndim() - 1);
        let mut shape = x.shape().to_vec();
        shape[last] = outer;
        let mut out = ArrayD::from_elem(IxDyn(&shape), Num::exact(0.0));
        for (row, mut results) in x.lanes(Axis(last)).into_iter().zip(out.lanes_mut(Axis(last))) {
            for (o, result) in results.iter_mut().enumerate() {
                let products = row.iter().zip(weight.index_axis(Axis(0), o)).map(|(&x, &w)| x * w).collect::<Vec<_>>();
                *result = Num::sum(products);
                if let Some(bias) = &bias {
                    *result = *result + bias[[o]];
                }
            }
        }
        vec![out]
    }),
    ulps: 4.0,
    differentiable: &["bias", "weight", "x"],
    promise: "candle-nn/src/linear.rs:39-74: a branch of its own for inputs of three and four dimensions that are not \
              contiguous; torch.nn.Linear",
};
