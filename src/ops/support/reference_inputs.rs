//! The inputs of a reference: the values of a case as numbers with error bounds and, on request, a direction to
//! differentiate in.

use ndarray::{ArrayD, ArrayViewD, IxDyn};

use crate::case::Case;
use crate::number::{Num, coarseness};
use crate::tensor::{Tensor, View};

/// The inputs of a reference.
#[derive(Debug, Clone)]
pub struct ReferenceInputs<'a> {
    /// The case.
    pub case: &'a Case,
    /// The input to differentiate by, and the direction: one slope per logical element.
    pub direction: Option<(&'a str, &'a [f64])>,
    /// An input to shift, and by how much: one step per logical element.
    pub shift: Option<(&'a str, &'a [f64])>,
    /// An input that is the output of another reference.
    pub flowing: Option<(&'a str, ArrayD<Num>)>,
}

impl<'a> ReferenceInputs<'a> {
    /// The values of `case`, as constants.
    pub fn new(case: &'a Case) -> Self {
        Self { case, direction: None, shift: None, flowing: None }
    }

    /// The input of this name. The contract has checked that it exists.
    pub fn array(&self, name: &str) -> ArrayD<Num> {
        self.optional(name).unwrap_or_else(|| ArrayD::from_elem(IxDyn(&[0]), Num::exact(f64::NAN)))
    }

    /// The input of this name, if the case has it.
    pub fn optional(&self, name: &str) -> Option<ArrayD<Num>> {
        if let Some((_, array)) = self.flowing.as_ref().filter(|(input, _)| *input == name) {
            return Some(array.clone());
        }
        let tensor = self.case.tensor(name)?;
        let unit = tensor.dtype.unit_roundoff();
        let slopes = self.direction.filter(|(input, _)| *input == name).map(|(_, slopes)| slopes);
        let steps = self.shift.filter(|(input, _)| *input == name).map(|(_, steps)| steps);
        let number = |(position, value)| {
            let at = |list: &[f64]| list.get(position).copied().unwrap_or(0.0);
            // Adding 0 would turn -0 into 0.
            let slope = slopes.map_or(0.0, at);
            let number = Num::input(steps.map_or(value, |steps| value + at(steps)), slope, unit);
            // The gradients of the copies of a broadcast element are rounded before they are added up. The comparison of
            // gradients allows at least four times the error.
            let slope_error = if tensor.view.broadcast.is_empty() { 0.0 } else { unit * slope.abs() / 4.0 };
            let error = if tensor.dtype.is_float() { 0.0 } else { coarseness(number.value) };
            Num { error, slope_error, ..number }
        };
        let numbers = tensor.floats().into_iter().enumerate().map(number).collect();
        Some(ArrayD::from_shape_vec(IxDyn(&tensor.shape), numbers).expect("a checked tensor has all its elements"))
    }

    /// The input of this name, also if it is vast.
    pub fn spread(&self, name: &str) -> Spread {
        match self.case.tensor(name).filter(|tensor| tensor.is_vast()) {
            Some(tensor) => {
                // What is differentiated or flows is not vast.
                let stored = Tensor { shape: tensor.stored_shape(), view: View::default(), ..tensor.clone() };
                let case = Case::default().input(name, stored);
                Spread { stored: ReferenceInputs::new(&case).array(name), shape: tensor.shape.clone() }
            }
            None => {
                let stored = self.array(name);
                Spread { shape: stored.shape().to_vec(), stored }
            }
        }
    }

    /// The integer input of this name.
    pub fn ids(&self, name: &str) -> ArrayD<i64> {
        if let Some((_, array)) = self.flowing.as_ref().filter(|(input, _)| *input == name) {
            return array.mapv(|id| id.value as i64);
        }
        let Some(tensor) = self.case.tensor(name) else { return ArrayD::from_elem(IxDyn(&[0]), 0) };
        ArrayD::from_shape_vec(IxDyn(&tensor.shape), tensor.ints()).expect("a checked tensor has all its elements")
    }
}

/// An array that may repeat what it stores along some dimensions.
#[derive(Debug)]
pub struct Spread {
    stored: ArrayD<Num>,
    shape: Vec<usize>,
}

impl Spread {
    /// All of its elements, to be read one at a time.
    pub fn view(&self) -> ArrayViewD<'_, Num> {
        self.stored.broadcast(self.shape.as_slice()).expect("stored with 1 for each size that it is broadcast to")
    }
}

/// One scalar output.
pub fn scalar(value: Num) -> Vec<ArrayD<Num>> {
    vec![ArrayD::from_elem(IxDyn(&[]), value)]
}

/// One output: `f` of every element of the input `name`.
pub fn each(inputs: &ReferenceInputs, name: &str, f: impl Fn(Num) -> Num) -> Vec<ArrayD<Num>> {
    vec![inputs.array(name).mapv(f)]
}

/// One output: `f` of each pair of elements of two arrays, which are broadcast to a common shape.
pub fn pairs(left: &ArrayD<Num>, right: &ArrayD<Num>, f: impl Fn(Num, Num) -> Num) -> Vec<ArrayD<Num>> {
    let Some(shape) = broadcast_shape(left.shape(), right.shape()) else { return vec![left.clone()] };
    let (left, right) = (left.broadcast(shape.as_slice()), right.broadcast(shape.as_slice()));
    let (left, right) = (left.expect("a shape that both fit"), right.expect("a shape that both fit"));
    let values = left.iter().zip(&right).map(|(&left, &right)| f(left, right)).collect();
    vec![ArrayD::from_shape_vec(shape, values).expect("one value per pair")]
}

/// The shape that two shapes are broadcast to, if sizes, aligned at the end, are equal or 1.
pub fn broadcast_shape(left: &[usize], right: &[usize]) -> Option<Vec<usize>> {
    let rank = left.len().max(right.len());
    let size = |shape: &[usize], dim: usize| (dim + shape.len()).checked_sub(rank).map_or(1, |own| shape[own]);
    let joined = |dim| match (size(left, dim), size(right, dim)) {
        (l, r) if l == r => Some(l),
        (1, size) | (size, 1) => Some(size),
        _ => None,
    };
    (0..rank).map(joined).collect()
}
