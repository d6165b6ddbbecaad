//! The references of steps, each on the first output of the one before.

use ndarray::ArrayD;

use super::{Placed, Step, split};
use crate::number::{Num, REACH};
use crate::ops::{Contract, ReferenceInputs};
use crate::tensor::DType;

/// Numbers for the elements of an input, and the input's name.
type Along<'a> = Option<(&'a str, &'a [f64])>;

/// The outputs of the steps so far.
#[derive(Default)]
pub struct Evaluation<'a> {
    direction: Along<'a>,
    shift: Along<'a>,
    /// How many steps.
    count: usize,
    /// The outputs of the last of them; none if a step has no reference.
    outputs: Vec<ArrayD<Num>>,
    /// Whether a number or a derivative on the way is not finite.
    pole: bool,
}

impl<'a> Evaluation<'a> {
    /// No steps yet, to be differentiated and shifted like this.
    pub fn along(direction: Along<'a>, shift: Along<'a>) -> Self {
        Self { direction, shift, ..Self::default() }
    }

    /// Adds those of `steps` that are not among the steps so far.
    pub fn extend(&mut self, steps: &[Placed]) {
        for (index, placed) in steps.iter().enumerate().skip(self.count) {
            for _ in 0..placed.step.times.get() {
                self.step(index, placed);
            }
            self.count = index + 1;
        }
    }

    /// Makes the step at `index` once.
    fn step(&mut self, index: usize, Placed { step, contract }: &Placed) {
        let flowing = step.flowing.zip(self.first()).map(|(name, before)| {
            let dtype = step.call.tensor(name).map_or(DType::F64, |tensor| tensor.dtype);
            // In standard layout, because ndarray reshapes nothing else.
            let mut output = before.as_standard_layout().mapv(|number| carried(number, dtype, step));
            if name != step.op.support.of && !step.op.differentiable.contains(&name) {
                // It is not promised that this input has a gradient, nor that it has none.
                output.iter_mut().for_each(|number| *number = Num { kink: true, ..number.detached() });
            }
            (name, output)
        });
        let reference = step.op.reference().filter(|_| step.flowing.is_some() == flowing.is_some());
        let (direction, shift) = (of_step(index, self.direction), of_step(index, self.shift));
        self.outputs =
            reference.map_or_else(Vec::new, |of| of(&ReferenceInputs { case: &step.call, direction, shift, flowing }));
        // All of it, even exact constants such as padding, is of the dtype that the step promises.
        if let Contract::Accepts { outputs, .. } = contract
            && let Some((dtype, _)) = outputs.first()
        {
            self.outputs.iter_mut().flatten().for_each(|number| number.unit = dtype.unit_roundoff());
        }
        let mut numbers = self.outputs.iter().flatten();
        self.pole |= numbers.any(|number| !number.slope.is_finite() || !number.value.is_finite());
    }

    /// The first output of the last step.
    pub fn first(&self) -> Option<&ArrayD<Num>> {
        self.outputs.first()
    }

    /// The outputs of the last step.
    pub fn into_outputs(mut self) -> Vec<ArrayD<Num>> {
        // A later step may hide a pole in its output, but the derivative is a product over all steps.
        self.outputs.iter_mut().flatten().for_each(|number| number.kink |= self.pole);
        self.outputs
    }
}

/// True if `dtype` has this number: an integer, if it has only integers.
pub fn is_in(number: &Num, dtype: DType) -> bool {
    let Some((low, high)) = dtype.int_range() else { return true };
    number.value.fract() == 0.0 && (low as f64..=high as f64).contains(&number.value)
}

/// The knowledge of `step` about a `number` that flows into it in this dtype: none if an overflow, a truncation or an open order decides it.
fn carried(number: Num, dtype: DType, step: &Step) -> Num {
    let is_open = number.indeterminate || number.is_exceeded_by(number.peak);
    // What is too large for its dtype is infinite, and compares as such. Another computation may be off by several error bounds.
    let compares = step.op.differentiable.is_empty();
    if is_open || !is_in(&number, dtype) || compares && number.is_exceeded_by(number.value) {
        return Num { indeterminate: true, unit: number.unit, ..Num::unknown() };
    }
    Num { error: if compares { number.error * REACH } else { number.error }, ..number }
}

/// `values` of an input of the step at `index` (from 0), under its name in that step.
fn of_step(index: usize, values: Along<'_>) -> Along<'_> {
    let (name, values) = values?;
    split(name).filter(|(number, _)| *number == index + 1).map(|(_, input)| (input, values))
}
