//! Sequences of 2 to 5 ops. Each takes the first output of the op before, because the damage of one op may show in a
//! later one.

use std::collections::BTreeMap;

use ndarray::ArrayD;

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::state::threads::THREADS;
use crate::ops::{Contract, Op, ReferenceInputs, all_that, find, why};
use crate::tensor::resized;
use crate::tensor::{DType, Fill, Support, Tensor, Value, Values, View, product};

/// The steps of a case, each on the output of the step before, with gradients for the inputs of all steps.
pub static SEQUENCE: Op = Op {
    name: "sequence",
    covers: &[],
    support: &Support { of: "", cpu: &DType::FLOATS, cuda: &DType::FLOATS },
    inputs: &[],
    params: &[],
    generate,
    contract,
    call: |call| {
        let mut outputs = Vec::new();
        for (number, (op, step)) in steps(call.case).iter().enumerate() {
            let mut tensors = BTreeMap::new();
            for (name, tensor) in &call.tensors {
                if let Some((owner, input)) = split(name)
                    && owner == number + 1
                {
                    tensors.insert(input, tensor.clone());
                }
            }
            if let Some(flowing) = outputs.into_iter().next() {
                tensors.insert(op.support.of, flowing);
            }
            let step = Case { backward: call.case.backward, ..step.clone() };
            outputs = op.call(&step, tensors, call.device)?;
        }
        Ok(outputs)
    },
    source: "the steps, each on the first output of the one before",
    // The steps have templates of their own.
    torch: "",
    reference: Some(|inputs| {
        let (mut outputs, mut pole) = (Vec::<ArrayD<Num>>::new(), false);
        let promised: Vec<Option<DType>> =
            placed(inputs.case).iter().map(|(op, step)| promised_dtype(op, step)).collect();
        for (number, (op, step)) in steps(inputs.case).iter().enumerate() {
            let (direction, shift) = (of_step(number, inputs.direction), of_step(number, inputs.shift));
            // In standard layout, because ndarray reshapes nothing else.
            let flowing = outputs.first().map(|output| (op.support.of, output.as_standard_layout().into_owned()));
            outputs = op
                .reference()
                .map_or_else(Vec::new, |of| of(&ReferenceInputs { case: step, direction, shift, flowing }));
            // All of it, even exact constants such as padding, is of the dtype that the step promises.
            if let Some(dtype) = promised.get(number).copied().flatten() {
                outputs.iter_mut().flatten().for_each(|number| number.unit = dtype.unit_roundoff());
            }
            pole |= outputs.iter().flatten().any(|number| !number.slope.is_finite() || !number.value.is_finite());
        }
        // A later step may hide a pole in its output, but the derivative is a product over all steps.
        outputs.iter_mut().flatten().for_each(|number| number.kink |= pole);
        outputs
    }),
    ulps: 8.0,
    differentiable: &[],
    promise: "the contract of each step for the output of the step before",
};

/// The op and the call of every step; empty if the case is not a sequence, or if a step is not a known op.
pub fn steps(case: &Case) -> Vec<(&'static Op, Case)> {
    let known = |call: Case| Some((find(&call.op).filter(|op| op.name != SEQUENCE.name)?, call));
    case.calls().into_iter().map(known).collect::<Option<_>>().unwrap_or_default()
}

/// The step (from 1) that an input or param belongs to, and its name in that step.
pub fn split(name: &str) -> Option<(usize, &str)> {
    let (number, name) = name.split_once('.')?;
    number.parse().ok().filter(|number| *number > 0).map(|number| (number, name))
}

/// `values` of an input of the step at `index` (from 0), under its name in that step.
fn of_step<'a>(index: usize, values: Option<(&'a str, &'a [f64])>) -> Option<(&'a str, &'a [f64])> {
    let (name, values) = values?;
    split(name).filter(|(number, _)| *number == index + 1).map(|(_, input)| (input, values))
}

/// The first `last` steps.
pub fn prefix(case: &Case, last: usize) -> Case {
    case.with_calls(case.calls().into_iter().take(last).collect())
}

/// The contract of the last step for the outputs of the steps before it, or of the first step that does not accept.
fn contract(case: &Case) -> Contract {
    let mut refused = None;
    let mut last = Contract::Unspecified(why::NO_CALL);
    for (number, (op, step)) in placed(case).into_iter().enumerate() {
        last = op.contract(&step);
        // A step may return a view, which the next step may refuse.
        let viewed = if number > 0 { op.contract(&strided(op, step)) } else { last.clone() };
        for contract in [&last, &viewed] {
            if let Contract::Accepts { refusal, .. } = contract {
                refused = refused.or(*refusal);
            }
        }
    }
    match last {
        Contract::Accepts { outputs, .. } => Contract::Accepts { outputs, refusal: refused },
        other => other,
    }
}

/// The steps up to the first that does not accept, each with a main input of the dtype and shape that the step before
/// promises.
pub fn placed(case: &Case) -> Vec<(&'static Op, Case)> {
    let mut placed = Vec::new();
    let mut promised: Option<(DType, Vec<usize>)> = None;
    for (index, (op, mut step)) in steps(case).into_iter().enumerate() {
        if let Some((dtype, shape)) = promised.take() {
            // Whether integers overflow is for their values to say.
            let integers = if dtype.is_float() { None } else { integers_after(case, index, dtype, &shape) };
            step = step.input(op.support.of, integers.unwrap_or_else(|| placeholder(dtype, &shape)));
        }
        let contract = op.contract(&step);
        placed.push((op, step));
        let Contract::Accepts { outputs, .. } = contract else { break };
        promised = outputs.into_iter().next();
    }
    placed
}

/// The output of the first `last` steps, if the reference knows each of its integers.
fn integers_after(case: &Case, last: usize, dtype: DType, shape: &[usize]) -> Option<Tensor> {
    let before = prefix(case, last);
    let outputs = SEQUENCE.reference?(&ReferenceInputs::new(&before));
    let known = |number: &Num| (number.error == 0.0).then(|| Value::of(dtype, number.value));
    let values = outputs.first()?.iter().map(known).collect::<Option<Vec<_>>>()?;
    (product(shape) == Some(values.len())).then(|| Tensor::new(dtype, shape.to_vec(), values))
}

/// The dtype of the first output that the contract of `op` promises.
fn promised_dtype(op: &Op, step: &Case) -> Option<DType> {
    let Contract::Accepts { outputs, .. } = op.contract(step) else { return None };
    outputs.first().map(|(dtype, _)| *dtype)
}

/// `step` with its main input in another memory layout.
fn strided(op: &Op, mut step: Case) -> Case {
    if let Some(tensor) = step.inputs.get_mut(op.support.of) {
        let rank = tensor.shape.len();
        let order = if rank > 1 { (0..rank).rev().collect() } else { Vec::new() };
        let before = if rank == 1 { vec![1] } else { Vec::new() };
        tensor.view = View { order, before, ..View::default() };
    }
    step
}

/// A tensor for contracts, which read dtype and shape only.
fn placeholder(dtype: DType, shape: &[usize]) -> Tensor {
    let values = Values::Fill(Fill::constant(Value::of(dtype, 0.0)));
    Tensor { dtype, shape: shape.to_vec(), view: View::default(), values }
}

/// Whether an op can be a step: its main input has a gradient, and its output a reference that the next step starts
/// from.
fn flows(op: &Op) -> bool {
    // Threads that differentiate return gradients, which have none.
    op.reference.is_some() && op.differentiable.contains(&op.support.of) && op.name != THREADS.name
}

fn generate(draw: &mut Draw) -> arbitrary::Result<Case> {
    let ops = all_that(flows);
    let length = draw.between(2, 5)?;
    let mut calls = Vec::new();
    let mut flowing: Option<(DType, Vec<usize>)> = None;
    // A step that does not fit the output before it is drawn again.
    for _ in 0..12 * length {
        let op = *draw.choose(&ops)?;
        let mut call = (op.generate)(draw)?;
        call.op = op.name.to_string();
        call.backward = crate::case::Backward::None;
        let mut checked = call.clone();
        if let Some((dtype, shape)) = &flowing {
            let Some(old) = call.inputs.remove(op.support.of) else { continue };
            fit(&mut call, &old, *dtype, shape);
            checked = call.clone().input(op.support.of, placeholder(*dtype, shape));
        }
        let Contract::Accepts { outputs, refusal: None } = op.contract(&checked) else { continue };
        let Some((dtype, shape)) = outputs.into_iter().next() else { continue };
        // Few ops take a scalar, so a scalar is the last output.
        if !DType::FLOATS.contains(&dtype) || (shape.is_empty() && calls.len() + 1 < length) {
            continue;
        }
        flowing = Some((dtype, shape));
        calls.push(call);
        if calls.len() == length {
            break;
        }
    }
    let mut case = Case::default().with_calls(calls);
    case.backward = draw.backward()?;
    Ok(case)
}

/// Gives the other inputs of `call` the sizes that fit a main input of this dtype and shape instead of `old`.
fn fit(call: &mut Case, old: &Tensor, dtype: DType, shape: &[usize]) {
    for tensor in call.inputs.values_mut() {
        if tensor.dtype == old.dtype {
            *tensor = crate::tensor::cast(tensor, dtype);
        }
        let new: Vec<usize> = if tensor.shape == old.shape && tensor.view.is_contiguous() {
            shape.to_vec()
        } else {
            let size = |n: usize| old.shape.iter().rposition(|&m| m == n).and_then(|d| shape.get(d)).copied();
            tensor.shape.iter().map(|&n| size(n).unwrap_or(n)).collect()
        };
        if new.len() == tensor.shape.len() && product(&new).is_some_and(|n| n <= 1 << 16) {
            *tensor = resized(tensor, new);
        }
    }
}
