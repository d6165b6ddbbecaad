//! Gather maps, for ops that only move elements: each output element is an element of the input `x`, or zero.

use std::collections::HashMap;

use ndarray::{ArrayD, Dimension, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::{Contract, ReferenceInputs, rule, why};
use crate::tensor::{DType, Support, index_of, product};

/// The output's shape for the input's, or the contract of a case without one.
pub type Shape = fn(&Case, &[usize]) -> Result<Vec<usize>, Contract>;

/// The index in `x`, of the shape in the second argument, that the output index in the last argument reads; `None` for
/// a zero.
pub type Origin = fn(&Case, &[usize], &[usize]) -> Option<Vec<usize>>;

/// The dtypes of ops that only change the layout: they run no kernel.
pub const VIEWS: &Support = &Support::both("x", &DType::ALL);

/// The dtypes of ops that copy elements.
pub const COPIES: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD };

/// The most elements of an output that are worth moving.
const LARGEST: usize = 1 << 20;

/// Accepts `x` with an output of this shape.
pub fn contract(case: &Case, shape: Shape) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
    match shape(case, &x.shape) {
        Ok(shape) => affordable(x.dtype, &shape),
        Err(contract) => contract,
    }
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

/// The output that `origin` gathers from `x`.
pub fn gathered(inputs: &ReferenceInputs, shape: Shape, origin: Origin) -> Vec<ArrayD<Num>> {
    let x = inputs.spread("x");
    let x = x.view();
    let out = shape(inputs.case, x.shape()).unwrap_or_default();
    let read = |index: IxDyn| {
        let place = origin(inputs.case, x.shape(), index.slice())?;
        x.get(place.as_slice()).map(|number| (flat(x.shape(), &place), *number))
    };
    let read = ArrayD::from_shape_fn(IxDyn(&out), read);
    let mut times: HashMap<usize, usize> = HashMap::new();
    read.iter().flatten().for_each(|(place, _)| *times.entry(*place).or_default() += 1);
    vec![read.mapv(|read| read.map_or(Num::exact(0.0), |(place, number)| number.read_often(times[&place])))]
}

/// A case with an `x` of `low..=high` dimensions of any dtype in any view, and gradients half of the time.
pub fn draw_x(draw: &mut Draw, low: usize, high: usize) -> arbitrary::Result<Case> {
    let shape = draw.open_shape(low, high)?;
    draw_x_of(draw, &shape)
}

/// A case with an `x` of this shape, of any dtype in any view, and gradients half of the time.
pub fn draw_x_of(draw: &mut Draw, shape: &[usize]) -> arbitrary::Result<Case> {
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

/// The position of `index` in row-major order.
fn flat(shape: &[usize], index: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |flat, (&i, &n)| flat * n + i)
}
