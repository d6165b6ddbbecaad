//! The Euclidean norm.

use crate::case::Case;
use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::elementwise::FLOATS;
use crate::ops::support::reference_inputs::scalar;
use crate::ops::{Contract, Op, rule};

/// `x.norm()`: `sqrt(sum(x^2))`, a scalar.
pub static NORM: Op = Op {
    name: "tensor.norm",
    covers: &["Tensor::norm"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| {
        let mut shape = draw.open_shape(0, 2)?;
        shape.push(draw.reduced()?);
        let dtype = draw.dtype(NORM.support)?;
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: &|case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
        if x.dtype.is_float() { Contract::accepts(x.dtype, &[]) } else { Contract::Rejects(&rule::DTYPE) }
    },
    call: &|call| Ok(vec![call.tensor("x")?.norm()?]),
    source: "x.norm()?",
    torch: "torch.linalg.vector_norm(x)",
    reference: Some(&|inputs| {
        let x: Vec<Num> = inputs.array("x").into_iter().collect();
        // The subgradient at 0 is 0.
        let zero = x.iter().all(|x| x.value == 0.0);
        let root = |x: &[Num]| Num::sum(x.iter().map(|&x| x * x)).sqrt();
        scalar(if zero { Num::exact(0.0) } else { Num::accumulated(&x, root) })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1441-1459; torch.linalg.vector_norm, which rejects integers, and whose gradient at 0 \
         is the subgradient 0",
};
