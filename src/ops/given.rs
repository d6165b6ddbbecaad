//! The inputs of a reference: the case's values as numbers with error bounds and, on request, a direction to derive in.

use ndarray::{ArrayD, IxDyn};

use crate::case::Case;
use crate::number::Num;

/// The inputs of a reference.
#[derive(Debug)]
pub struct Given<'a> {
    /// The case.
    pub case: &'a Case,
    /// The input to derive by, and the direction: one slope per logical element.
    pub direction: Option<(&'a str, &'a [f64])>,
    /// An input to move, and by how much: one step per logical element.
    pub shift: Option<(&'a str, &'a [f64])>,
    /// An input that is the output of another reference.
    pub flowing: Option<(&'a str, ArrayD<Num>)>,
}

impl<'a> Given<'a> {
    /// The values of `case`, as constants.
    pub fn new(case: &'a Case) -> Self {
        Self { case, direction: None, shift: None, flowing: None }
    }

    /// The input of this name, which the contract has checked to exist.
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
            let at = |list: Option<&[f64]>| list.and_then(|list| list.get(position)).copied().unwrap_or(0.0);
            Num::input(value + at(steps), at(slopes), unit)
        };
        let numbers = tensor.floats().into_iter().enumerate().map(number).collect();
        Some(ArrayD::from_shape_vec(IxDyn(&tensor.shape), numbers).expect("a checked tensor has all its elements"))
    }

    /// The integer input of this name.
    pub fn ids(&self, name: &str) -> ArrayD<i64> {
        let Some(tensor) = self.case.tensor(name) else { return ArrayD::from_elem(IxDyn(&[0]), 0) };
        ArrayD::from_shape_vec(IxDyn(&tensor.shape), tensor.ints()).expect("a checked tensor has all its elements")
    }
}

/// One scalar output.
pub fn scalar(value: Num) -> Vec<ArrayD<Num>> {
    vec![ArrayD::from_elem(IxDyn(&[]), value)]
}
