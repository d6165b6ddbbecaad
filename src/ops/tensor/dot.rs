//! The product of two vectors.

use crate::case::{Case, InputSpec};
use crate::number::Num;
use crate::ops::support::products::vector_products::{contract, operands};
use crate::ops::support::reference_inputs::scalar;
use crate::ops::{Contract, Op, rule};
use crate::tensor::{DType, Support};

/// `x.dot(rhs)` of two vectors.
pub static DOT: Op = Op {
    name: "tensor.dot",
    covers: &["Tensor::dot"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    inputs: &[InputSpec::new("x", "(N)"), InputSpec::new("rhs", "(N)")],
    params: &[],
    generate: &|draw| {
        let (size, dtype) = (draw.reduced()?, draw.dtype(DOT.support)?);
        let (x, rhs) = (draw.tensor(dtype, &[size])?, draw.tensor(dtype, &[size])?);
        let mut case = Case::default().input("x", x).input("rhs", rhs);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: &|case| {
        let Some((x, rhs)) = operands(case) else { return Contract::Rejects(&rule::SHAPES) };
        if x.shape.len() != 1 || rhs.shape.len() != 1 {
            return Contract::Rejects(&rule::RANK);
        }
        contract(x, rhs, x.shape == rhs.shape, &[])
    },
    call: &|call| Ok(vec![call.tensor("x")?.dot(call.tensor("rhs")?)?]),
    source: "x.dot(&rhs)?",
    torch: "x.dot(rhs)",
    reference: Some(&|inputs| {
        let (x, rhs) = (inputs.array("x"), inputs.array("rhs"));
        scalar(Num::sum(x.iter().zip(&rhs).map(|(&x, &rhs)| x * rhs)))
    }),
    ulps: 4.0,
    differentiable: &["rhs", "x"],
    promise: "candle-core/src/tensor.rs:1409-1439 (\"not supported for integer dtypes\"); torch.dot, also of integers",
};
