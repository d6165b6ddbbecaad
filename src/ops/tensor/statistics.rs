//! `var`, and products of vectors: `dot` and `mv`.

use ndarray::{ArrayD, IxDyn};

use crate::case::Case;
use crate::number::Num;
use crate::ops::support::ids::dim;
use crate::ops::support::reductions::{OPEN, gradient_of_nothing, left, reduced, squared};
use crate::ops::support::reference_inputs::scalar;
use crate::ops::{Contract, Op, why};
use crate::tensor::{DType, Support, Tensor};

/// `x.var(dim)` and `x.var_keepdim(dim)`, by `form`: `sum((x - mean)^2) / (n - 1)`.
pub static VAR: Op = Op {
    name: "tensor.var",
    covers: &["Tensor::var", "Tensor::var_keepdim"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: |draw| {
        let mut shape = draw.shape(0, 2)?;
        let dim = draw.between(0, shape.len())?;
        shape.insert(dim, draw.reduced()?);
        let dtype = draw.dtype(VAR.support)?;
        let x = draw.tensor(dtype, &shape)?;
        let mut case = Case::default().input("x", x).param("dim", dim).param("form", *draw.choose(&["", "keepdim"])?);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: |case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
        let Some(dim) = dim(case, x) else { return Contract::Rejects(why::DIM) };
        if !x.dtype.is_float() {
            return Contract::Unspecified("the variance of integers");
        }
        if gradient_of_nothing(case) {
            return Contract::Unspecified("gradients of nothing");
        }
        let shape = left(&x.shape, &[dim], case.text("form") == "keepdim");
        Contract::accepts(x.dtype, &shape).may_refuse(x.shape[dim] == 0, "the variance of nothing")
    },
    call: |call| {
        let (x, dim) = (call.tensor("x")?, call.size("dim", 0));
        Ok(vec![if call.case.text("form") == "keepdim" { x.var_keepdim(dim)? } else { x.var(dim)? }])
    },
    source: "x.var{{ '_keepdim' if form == 'keepdim' else '' }}({{ dim|default(0) }})?",
    torch: "x.var({{ dim|default(0) }}{{ ', keepdim=True' if form == 'keepdim' else '' }})",
    reference: Some(|inputs| {
        let dim = usize::try_from(inputs.case.int("dim", 0)).unwrap_or(0);
        reduced(&inputs.array("x"), &[dim], inputs.case.text("form") == "keepdim", |lane| {
            if lane.len() < 2 {
                return OPEN;
            }
            let mean = Num::mean(lane);
            let squares = lane.iter().map(|&x| squared(x - mean));
            Num::sum(squares) / Num::exact(lane.len() as f64 - 1.0)
        })
    }),
    ulps: 8.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1071-1083 (unbiased); torch.var",
};

/// `x.dot(rhs)` of two vectors.
pub static DOT: Op = Op {
    name: "tensor.dot",
    covers: &["Tensor::dot"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: |draw| {
        let (size, dtype) = (draw.reduced()?, draw.dtype(DOT.support)?);
        let mut pair = Vec::new();
        for _ in 0..2 {
            pair.push(draw.tensor(dtype, &[size])?);
        }
        let mut case = Case::default();
        for (name, tensor) in ["x", "rhs"].into_iter().zip(pair) {
            case = case.input(name, tensor);
        }
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: |case| {
        let Some((x, rhs)) = operands(case) else { return Contract::Rejects(why::SHAPES) };
        if x.shape.len() != 1 || rhs.shape.len() != 1 {
            return Contract::Rejects(why::RANK);
        }
        if !x.dtype.is_float() {
            return Contract::Unspecified("the documentation excludes integers");
        }
        product_of(case, x, rhs, x.shape == rhs.shape, &[])
    },
    call: |call| Ok(vec![call.tensor("x")?.dot(call.tensor("rhs")?)?]),
    source: "x.dot(&rhs)?",
    torch: "x.dot(rhs)",
    reference: Some(|inputs| {
        let (x, rhs) = (inputs.array("x"), inputs.array("rhs"));
        scalar(Num::sum(x.iter().zip(&rhs).map(|(&x, &rhs)| x * rhs)))
    }),
    ulps: 4.0,
    differentiable: &["rhs", "x"],
    promise: "candle-core/src/tensor.rs:1409-1439; torch.dot",
};

/// `x.mv(rhs)`: a matrix `(m, n)` times a vector `(n)`.
pub static MV: Op = Op {
    name: "tensor.mv",
    covers: &["Tensor::mv"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| {
        let (rows, size, dtype) = (draw.positive()?, draw.reduced()?, draw.dtype(MV.support)?);
        let (x, rhs) = (draw.tensor(dtype, &[rows, size])?, draw.tensor(dtype, &[size])?);
        let mut case = Case::default().input("x", x).input("rhs", rhs);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: |case| {
        let Some((x, rhs)) = operands(case) else { return Contract::Rejects(why::SHAPES) };
        if x.shape.len() != 2 || rhs.shape.len() != 1 {
            return Contract::Rejects(why::RANK);
        }
        if x.shape.contains(&0) {
            return Contract::Unspecified("a product without elements");
        }
        product_of(case, x, rhs, x.shape[1] == rhs.shape[0], &[x.shape[0]])
    },
    call: |call| Ok(vec![call.tensor("x")?.mv(call.tensor("rhs")?)?]),
    source: "x.mv(&rhs)?",
    torch: "x.mv(rhs)",
    reference: Some(|inputs| {
        let (x, rhs) = (inputs.array("x"), inputs.array("rhs"));
        let row = |row: usize| Num::sum(rhs.iter().enumerate().map(|(column, &rhs)| x[[row, column]] * rhs));
        vec![ArrayD::from_shape_fn(IxDyn(&x.shape()[..1]), |index| row(index[0]))]
    }),
    ulps: 4.0,
    differentiable: &["rhs", "x"],
    promise: "candle-core/src/tensor.rs:1461-1490; torch.mv",
};

fn operands(case: &Case) -> Option<(&Tensor, &Tensor)> {
    Some((case.tensor("x")?, case.tensor("rhs")?))
}

fn product_of(case: &Case, x: &Tensor, rhs: &Tensor, fits: bool, shape: &[usize]) -> Contract {
    if !fits {
        return Contract::Rejects(why::SHAPES);
    }
    if x.dtype != rhs.dtype {
        return Contract::Rejects(why::MIXED);
    }
    if gradient_of_nothing(case) {
        return Contract::Unspecified("gradients of nothing");
    }
    let largest = |t: &Tensor| t.floats().into_iter().map(f64::abs).fold(0.0, f64::max);
    let limit = x.dtype.max().min(2f64.powi(53));
    if !x.dtype.is_float() && largest(x) * largest(rhs) * rhs.elements().unwrap_or(0) as f64 > limit {
        return Contract::Unspecified("integer overflow");
    }
    Contract::accepts(x.dtype, shape)
}
