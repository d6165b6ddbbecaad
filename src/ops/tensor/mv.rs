//! The product of a matrix and a vector.

use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, InputSpec};
use crate::number::Num;
use crate::ops::support::products::vector_products::{contract, operands};
use crate::ops::{Contract, Op, rule};
use crate::tensor::{DType, Support};

/// `x.mv(rhs)`: a matrix `(m, n)` times a vector `(n)`.
pub static MV: Op = Op {
    name: "tensor.mv",
    covers: &["Tensor::mv"],
    support: &Support::both("x", &DType::FLOATS),
    inputs: &[InputSpec::new("x", "(M, N)"), InputSpec::new("rhs", "(N)")],
    params: &[],
    generate: &|draw| {
        let (rows, size, dtype) = (draw.positive()?, draw.reduced()?, draw.dtype(MV.support)?);
        let (x, rhs) = (draw.tensor(dtype, &[rows, size])?, draw.tensor(dtype, &[size])?);
        let mut case = Case::default().input("x", x).input("rhs", rhs);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: &|case| {
        let Some((x, rhs)) = operands(case) else { return Contract::Rejects(&rule::SHAPES) };
        if x.shape.len() != 2 || rhs.shape.len() != 1 {
            return Contract::Rejects(&rule::RANK);
        }
        contract(x, rhs, x.shape[1] == rhs.shape[0], &[x.shape[0]])
    },
    call: &|call| Ok(vec![call.tensor("x")?.mv(call.tensor("rhs")?)?]),
    source: "x.mv(&rhs)?",
    torch: "x.mv(rhs)",
    reference: Some(&|inputs| {
        let (x, rhs) = (inputs.array("x"), inputs.array("rhs"));
        let row = |row: usize| Num::dot(rhs.iter().enumerate().map(|(column, &rhs)| (x[[row, column]], rhs)));
        vec![ArrayD::from_shape_fn(IxDyn(&x.shape()[..1]), |index| row(index[0]))]
    }),
    ulps: 4.0,
    differentiable: &["rhs", "x"],
    promise: "candle-core/src/tensor.rs:1461-1490; torch.mv",
};
