//! Ops that join tensors, or copies of one: `cat`, `stack` and `repeat`.

use candle_core::Tensor as Candle;
use ndarray::{ArrayD, Axis};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::gather_map::{
    COPIES, TOO_LARGE, affordable, contract, drawn, gathered, graded, shape_of, size, sizes, with_sizes,
};
use crate::ops::{Call, Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support, Tensor};

/// `Tensor::cat(&[t0, t1, ..], dim)`: tensors that differ in one dimension only, one after the other.
pub static CAT: Op = Op {
    name: "tensor.cat",
    covers: &["Tensor::cat"],
    support: &Support { of: "t0", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| {
        let mut shape = draw.shape(1, 3)?;
        let dim = draw.between(0, shape.len() - 1)?;
        joined(draw, dim, |draw| {
            shape[dim] = draw.size()?;
            Ok(shape.clone())
        })
    },
    contract: |case| {
        let tensors = tensors(case);
        let dim = size(case, "dim");
        match joinable(&tensors, |a, b| a.len() == b.len() && (0..a.len()).all(|d| d == dim || a[d] == b[d])) {
            Err(contract) => contract,
            Ok(first) if dim >= first.shape.len() && tensors.len() == 1 => {
                Contract::Unspecified("the cat of one tensor")
            }
            Ok(first) if dim >= first.shape.len() => Contract::Rejects(why::DIM),
            Ok(first) => {
                let mut shape = first.shape.clone();
                shape[dim] = tensors.iter().map(|tensor| tensor.shape[dim]).sum();
                graded(case, affordable(first.dtype, &shape))
            }
        }
    },
    call: |call| Ok(vec![Candle::cat(&operands(call), call.size("dim", 0))?]),
    source: "Tensor::cat(&[{{ list('t') }}], {{ dim|default(0) }})?",
    torch: "torch.cat([{{ list('t') }}], dim={{ dim|default(0) }})",
    reference: Some(|inputs| together(inputs, |array| array)),
    ulps: 4.0,
    differentiable: &NAMES,
    promise: "candle-core/src/tensor_cat.rs:4-70; torch.cat",
};

/// `Tensor::stack(&[t0, t1, ..], dim)`: tensors of one shape along a new dimension.
pub static STACK: Op = Op {
    name: "tensor.stack",
    covers: &["Tensor::stack"],
    support: &Support { of: "t0", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| {
        let shape = draw.shape(0, 3)?;
        let dim = draw.between(0, shape.len())?;
        joined(draw, dim, |_| Ok(shape.clone()))
    },
    contract: |case| {
        let tensors = tensors(case);
        let dim = size(case, "dim");
        match joinable(&tensors, |a, b| a == b) {
            Err(contract) => contract,
            Ok(first) if dim > first.shape.len() => Contract::Rejects(why::DIM),
            Ok(first) => {
                let mut shape = first.shape.clone();
                shape.insert(dim, tensors.len());
                graded(case, affordable(first.dtype, &shape))
            }
        }
    },
    call: |call| Ok(vec![Candle::stack(&operands(call), call.size("dim", 0))?]),
    source: "Tensor::stack(&[{{ list('t') }}], {{ dim|default(0) }})?",
    torch: "torch.stack([{{ list('t') }}], dim={{ dim|default(0) }})",
    reference: Some(|inputs| together(inputs, |array| array.insert_axis(Axis(size(inputs.case, "dim"))))),
    ulps: 4.0,
    differentiable: &NAMES,
    promise: "candle-core/src/tensor.rs:2655-2682; torch.stack",
};

/// `x.repeat((n0, n1, ..))`: `x` that many times along each dimension, with dimensions of 1 in front if there are more.
pub static REPEAT: Op = Op {
    name: "tensor.repeat",
    covers: &["Tensor::repeat"],
    support: COPIES,
    generate: |draw| {
        let case = drawn(draw, 0, 3)?;
        let more = draw.between(0, 1)?;
        let factors = (0..shape_of(&case).len() + more).map(|_| draw.choose(&[1, 1, 2, 2, 3, 0]).copied());
        let factors = factors.collect::<arbitrary::Result<Vec<usize>>>()?;
        Ok(with_sizes(case, "n", &factors))
    },
    contract: |case| contract(case, repeated),
    call: |call| Ok(vec![call.tensor("x")?.repeat(sizes(call.case, "n"))?]),
    source: "x.repeat({{ shape('n') }})?",
    torch: "x.repeat({{ shape('n') }})",
    reference: Some(|inputs| {
        gathered(inputs, repeated, |_, x, index| {
            let own = &index[index.len() - x.len()..];
            Some(own.iter().zip(x).map(|(&i, &n)| i % n).collect())
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:689-713 (\"Similar to PyTorch\"); torch.Tensor.repeat",
};

fn repeated(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let factors = sizes(case, "n");
    let Some(more) = factors.len().checked_sub(x.len()) else {
        return Err(Contract::Unspecified("fewer factors than dimensions"));
    };
    if factors.iter().any(|&n| n > 1 << 10) {
        return Err(TOO_LARGE);
    }
    let size = |(place, &factor): (usize, &usize)| factor * if place < more { 1 } else { x[place - more] };
    Ok(factors.iter().enumerate().map(size).collect())
}

/// The dtypes of these ops.
pub const JOIN_SUPPORT: &Support = &Support { of: "t0", cpu: &DType::ALL, cuda: &DType::STANDARD };

fn joined(
    draw: &mut Draw,
    dim: usize,
    mut shape: impl FnMut(&mut Draw) -> arbitrary::Result<Vec<usize>>,
) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(JOIN_SUPPORT)?;
    let mut case = Case::default().param("dim", dim);
    let count = *draw.choose(&[2, 2, 3, 4, 1])?;
    for name in &NAMES[..count] {
        let shape = shape(draw)?;
        case = case.input(name, draw.tensor(dtype, &shape)?);
    }
    case.backward = draw.backward()?;
    Ok(case)
}

const NAMES: [&str; 4] = ["t0", "t1", "t2", "t3"];

/// The operands of a case: those of the names that it has.
fn tensors(case: &Case) -> Vec<&Tensor> {
    NAMES.iter().filter_map(|name| case.tensor(name)).collect()
}

fn operands(call: &Call) -> Vec<Candle> {
    NAMES.iter().filter_map(|name| call.optional(name).cloned()).collect()
}

/// The first operand, if all the others have its dtype and a shape that `fits` its.
fn joinable<'a>(tensors: &[&'a Tensor], fits: impl Fn(&[usize], &[usize]) -> bool) -> Result<&'a Tensor, Contract> {
    let Some(&first) = tensors.first() else { return Err(Contract::Rejects("no tensors")) };
    if tensors.iter().any(|tensor| !fits(&first.shape, &tensor.shape)) {
        return Err(Contract::Rejects(why::SHAPES));
    }
    if tensors.iter().any(|tensor| tensor.dtype != first.dtype) {
        return Err(Contract::Rejects(why::MIXED));
    }
    Ok(first)
}

fn together(inputs: &ReferenceInputs, prepare: impl Fn(ArrayD<Num>) -> ArrayD<Num>) -> Vec<ArrayD<Num>> {
    let arrays: Vec<_> = NAMES.iter().filter_map(|name| inputs.optional(name)).map(prepare).collect();
    let views: Vec<_> = arrays.iter().map(|array| array.view()).collect();
    vec![ndarray::concatenate(Axis(size(inputs.case, "dim")), &views).expect("shapes that the contract has checked")]
}
