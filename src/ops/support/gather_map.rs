//! What ops share that only move elements: each element of the output is one of the input `x`, or zero.

use ndarray::{ArrayD, Dimension, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::{Contract, ReferenceInputs, why};
use crate::tensor::{DType, Support, index_of, product};

/// The output's shape for the input's, or what the contract says instead.
pub type Shape = fn(&Case, &[usize]) -> Result<Vec<usize>, Contract>;

/// Where the element at an index of the output (the last argument) lies in an input of a shape (the second one); `None`
/// for a zero.
pub type Origin = fn(&Case, &[usize], &[usize]) -> Option<Vec<usize>>;

/// Where only the layout changes: no kernel is asked for.
pub const VIEWS: &Support = &Support::both("x", &DType::ALL);

/// The dtypes of these ops.
pub const COPIES: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD };

/// The most elements of an output that are worth moving.
const LARGEST: usize = 1 << 20;

/// Accepts `x` with an output of this shape.
pub fn contract(case: &Case, shape: Shape) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
    match shape(case, &x.shape) {
        Ok(shape) => graded(case, affordable(x.dtype, &shape)),
        Err(contract) => contract,
    }
}

/// The contract, with an `Err` allowed where gradients of nothing are asked for: what fails is the sum of nothing that
/// they start from, which is not this op's.
pub fn graded(case: &Case, contract: Contract) -> Contract {
    let empty = case.inputs.values().any(|tensor| tensor.shape.contains(&0))
        || matches!(&contract, Contract::Accepts { outputs, .. } if outputs.iter().any(|(_, shape)| shape.contains(&0)));
    contract.may_refuse(empty && !case.backward.is_none(), "gradients of nothing")
}

/// Accepts an output that is not too large.
pub fn affordable(dtype: DType, shape: &[usize]) -> Contract {
    // An empty tensor may have absurd dimensions too.
    let sizes: Vec<usize> = shape.iter().map(|&n| n.max(1)).collect();
    match product(&sizes) {
        Some(elements) if elements <= LARGEST => Contract::accepts(dtype, shape),
        _ => TOO_LARGE,
    }
}

/// An output that costs more than it shows.
pub const TOO_LARGE: Contract = Contract::Unspecified(why::TOO_LARGE);

/// The moved elements of `x`.
pub fn gathered(inputs: &ReferenceInputs, shape: Shape, origin: Origin) -> Vec<ArrayD<Num>> {
    let x = inputs.array("x");
    let out = shape(inputs.case, x.shape()).unwrap_or_default();
    let element = |index: &[usize]| {
        let place = origin(inputs.case, x.shape(), index)?;
        x.get(place.as_slice()).copied()
    };
    vec![ArrayD::from_shape_fn(IxDyn(&out), |index| element(index.slice()).unwrap_or(Num::exact(0.0)))]
}

/// A case with an `x` of `low..=high` dimensions of any dtype in any view, and gradients half of the time.
pub fn drawn(draw: &mut Draw, low: usize, high: usize) -> arbitrary::Result<Case> {
    let shape = draw.shape(low, high)?;
    drawn_of(draw, &shape)
}

/// The same with an `x` of this shape.
pub fn drawn_of(draw: &mut Draw, shape: &[usize]) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(COPIES)?;
    let mut case = Case::default().input("x", draw.tensor(dtype, shape)?);
    case.backward = draw.backward()?;
    Ok(case)
}

/// The shape of the case's `x`.
pub fn shape_of(case: &Case) -> Vec<usize> {
    case.tensor("x").map(|x| x.shape.clone()).unwrap_or_default()
}

/// The elements of `x` in row-major order, in another shape.
pub fn in_order(inputs: &ReferenceInputs, shape: Shape) -> Vec<ArrayD<Num>> {
    let x = inputs.array("x");
    let out = shape(inputs.case, x.shape()).unwrap_or_default();
    let at = |index: &[usize]| x[index_of(flat(&out, index), x.shape()).as_slice()];
    vec![ArrayD::from_shape_fn(IxDyn(&out), |index| at(index.slice()))]
}

/// The place of `index` in row-major order.
fn flat(shape: &[usize], index: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |flat, (&i, &n)| flat * n + i)
}
