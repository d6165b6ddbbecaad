//! Sequences of 2 to 5 ops. The first output of each is an input of the next, because the damage of one op may show in a later one.

mod draw;
mod evaluation;

use std::collections::BTreeMap;
use std::mem;

use ndarray::ArrayD;

use crate::case::{Case, DeviceObject, Times};
use crate::number::Num;
use crate::ops::support::call::dtype_of;
use crate::ops::{Contract, Devices, Op, find, threads, why};
use crate::tensor::{DType, Fill, Support, Tensor, Value, Values, View, product};

use evaluation::{Evaluation, is_in};

/// The steps of a case, each on the output of the step before, in its host thread and on its device object, with gradients for the
/// inputs of all steps. One step ends before the next begins, so a program of several threads returns the same as one of a single thread.
pub static SEQUENCE: Op = Op {
    name: "sequence",
    covers: &[],
    support: &Support { of: "", cpu: &DType::FLOATS, cuda: &DType::FLOATS },
    inputs: &[],
    params: &[],
    generate: &draw::generate,
    contract: &contract,
    call: &|call| {
        let mut outputs = Vec::new();
        for (number, step) in steps(call.case).into_iter().enumerate() {
            let mut tensors = BTreeMap::new();
            for (name, tensor) in &call.tensors {
                if let Some((owner, input)) = split(name)
                    && owner == number + 1
                {
                    tensors.insert(input, tensor.clone());
                }
            }
            let mut own = Case { backward: call.case.backward, ..step.call };
            let devices = Devices::only(call.devices.of(step.device));
            let mut flowing = step.flowing.zip(outputs.into_iter().next());
            outputs = threads::on(step.thread, || {
                let mut outputs = Vec::new();
                for _ in 0..step.times.get() {
                    let mut tensors = tensors.clone();
                    if let Some((name, output)) = flowing.take() {
                        // An op may ask the case for the shape of an input.
                        let dtype = dtype_of(&output);
                        own.inputs.insert(name.to_string(), filled(dtype, output.dims(), Value::of(dtype, 0.0)));
                        tensors.insert(name, output.to_device(devices.own())?);
                    }
                    outputs = step.op.call(&own, tensors, &devices)?;
                    flowing = step.flowing.zip(outputs.first().cloned());
                }
                Ok::<_, candle_core::Error>(outputs)
            })?;
        }
        Ok(outputs)
    },
    source: "the steps, each on the first output of the one before, in its thread and on its device object",
    // The steps have templates of their own.
    torch: "",
    reference: Some(&|inputs| {
        let mut evaluation = Evaluation::along(inputs.direction, inputs.shift);
        evaluation.extend(&accepted(inputs.case));
        evaluation.into_outputs()
    }),
    ulps: 8.0,
    differentiable: &[],
    promise: "the contract of each step for the output of the step before",
};

/// A step of a sequence.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its op.
    pub op: &'static Op,
    /// Its call.
    pub call: Case,
    /// The input that the output of the step before is; `None` for the first step.
    pub flowing: Option<&'static str>,
    /// The host thread that makes it.
    pub thread: usize,
    /// The device object that it is made on.
    pub device: DeviceObject,
    /// How often it is made, each time on its own output.
    pub times: Times,
}

impl Step {
    /// A step that is made once, in thread 0 and on the device object of the case.
    #[must_use]
    pub fn new(op: &'static Op, call: Case, flowing: Option<&'static str>) -> Self {
        Self { op, call, flowing, thread: 0, device: DeviceObject::default(), times: Times::default() }
    }

    /// The call on this output of the step before.
    #[must_use]
    pub fn on(&self, output: Option<Tensor>) -> Case {
        let call = self.call.clone();
        match self.flowing.zip(output) {
            Some((name, output)) => call.input(name, output),
            None => call,
        }
    }

    /// The contract on an output of this dtype and shape, whose integers are one of `possible`.
    fn contract_on(&self, possible: Vec<Tensor>) -> (Case, Contract) {
        let is_discrete = self.op.inputs.iter().any(|spec| Some(spec.name) == self.flowing && spec.discrete);
        let is_open = is_discrete && possible.len() > 1;
        let mut calls = possible.into_iter().map(|output| self.on(Some(output)));
        let call = calls.next().unwrap_or_else(|| self.call.clone());
        let contract = self.op.contract(&call);
        let others: Vec<Contract> = calls.map(|call| self.op.contract(&call)).collect();
        let overflow = Contract::Unspecified(why::OVERFLOW);
        if others.contains(&overflow) {
            (call, overflow)
        } else if is_open || others.iter().any(|other| *other != contract) {
            (call, Contract::Unspecified(why::UNKNOWN_INTEGERS))
        } else {
            (call, contract)
        }
    }

    /// The call with the output of the step before in another memory layout.
    fn strided(&self) -> Case {
        let mut call = self.call.clone();
        if let Some(tensor) = self.flowing.and_then(|name| call.inputs.get_mut(name)) {
            let rank = tensor.shape.len();
            let order = if rank > 1 { (0..rank).rev().collect() } else { Vec::new() };
            let before = if rank == 1 { vec![1] } else { Vec::new() };
            tensor.view = View { order, before, ..View::default() };
        }
        call
    }
}

/// The steps of a case; none if it is not a sequence, or if a step is not a known op or has no input for the output of the step before.
pub fn steps(case: &Case) -> Vec<Step> {
    let step = |(number, mut call): (usize, Case)| {
        let op = find(&call.op).filter(|op| op.name != SEQUENCE.name)?;
        let flowing = if number > 0 { Some(op.specs().flowing(&call).ok()?) } else { None };
        let (thread, device, times) =
            (mem::take(&mut call.threads), mem::take(&mut call.devices), mem::take(&mut call.times));
        Some(Step { op, call, flowing, thread: thread.at(0), device: device.at(0), times: times.at(0) })
    };
    case.calls().into_iter().enumerate().map(step).collect::<Option<_>>().unwrap_or_default()
}

/// The step (from 1) that an input or param belongs to, and its name in that step.
pub fn split(name: &str) -> Option<(usize, &str)> {
    let (number, name) = name.split_once('.')?;
    number.parse().ok().filter(|number| *number > 0).map(|number| (number, name))
}

/// The host thread that makes the step of an input.
pub fn thread_of(case: &Case, input: &str) -> usize {
    split(input).map_or(0, |(number, _)| case.threads.at(number - 1))
}

/// The device object that the step of an input is made on.
pub fn device_of(case: &Case, input: &str) -> DeviceObject {
    split(input).map_or(DeviceObject::Own, |(number, _)| case.devices.at(number - 1))
}

/// The first `last` steps.
pub fn prefix(case: &Case, last: usize) -> Case {
    case.with_calls(case.calls().into_iter().take(last).collect())
}

/// The contract of the last step for the outputs of the steps before it, or of the first step that does not accept.
fn contract(case: &Case) -> Contract {
    let mut refused = None;
    let mut last = Contract::Unspecified(why::NO_CALL);
    for Placed { step, contract } in accepted(case) {
        // A step may return a view, which the next step may reject, or take where it rejects contiguous tensors.
        let viewed = step.op.contract(&step.strided());
        for contract in [&contract, &viewed] {
            if let Contract::Accepts { refusal, .. } = contract {
                refused = refused.or(*refusal);
            }
        }
        last = match (contract, viewed) {
            (Contract::Rejects(_), open @ Contract::Unspecified(_)) => open,
            (contract, _) => contract,
        };
    }
    match last {
        Contract::Accepts { outputs, .. } => Contract::Accepts { outputs, refusal: refused },
        other => other,
    }
}

/// The steps up to the first that does not accept. Each call also has the input that the output of the step before is, of the
/// dtype and shape that this step promises; integers have their values.
pub fn placed(case: &Case) -> Vec<Step> {
    accepted(case).into_iter().map(|placed| placed.step).collect()
}

/// The calls of all steps with all their inputs. Of what flows, only the dtype and the shape are right, as far as they are promised.
pub fn whole_calls(case: &Case) -> Vec<Case> {
    let anything = |Step { call, flowing, .. }: Step| match flowing {
        Some(name) => call.input(name, filled(DType::F32, &[], Value::of(DType::F32, 0.0))),
        None => call,
    };
    let (steps, placed) = (steps(case), placed(case));
    let later = steps.into_iter().skip(placed.len()).map(anything);
    placed.into_iter().map(|step| step.call).chain(later).collect()
}

/// A step with all its inputs, and its contract.
struct Placed {
    step: Step,
    contract: Contract,
}

impl Placed {
    /// True if it returns floats of the dtype and shape that it takes.
    fn returns_what_it_takes(&self) -> bool {
        let Contract::Accepts { outputs, .. } = &self.contract else { return false };
        let taken = self.step.flowing.and_then(|name| self.step.call.tensor(name));
        taken.zip(outputs.first()).is_some_and(|(taken, (dtype, shape))| {
            taken.dtype.is_float() && taken.dtype == *dtype && taken.shape == *shape
        })
    }
}

/// The steps up to the first that does not accept, which is the last of them.
fn accepted(case: &Case) -> Vec<Placed> {
    let mut chain = Chain::default();
    for step in steps(case) {
        let Some(placed) = chain.next(&step) else { break };
        chain.placed.push(placed);
    }
    chain.placed
}

/// Steps that are placed one after the other.
#[derive(Default)]
struct Chain {
    placed: Vec<Placed>,
    evaluation: Evaluation<'static>,
}

impl Chain {
    /// The dtype and shape of what the last step accepts to return first.
    fn promised(&self) -> Option<&(DType, Vec<usize>)> {
        match &self.placed.last()?.contract {
            Contract::Accepts { outputs, .. } => outputs.first(),
            _ => None,
        }
    }

    /// `step` on what the last step promises; `None` if that promises nothing.
    fn next(&mut self, step: &Step) -> Option<Placed> {
        let possible = match self.promised().cloned() {
            None if self.placed.is_empty() => Vec::new(),
            None => return None,
            Some((dtype, shape)) if dtype.is_float() => vec![filled(dtype, &shape, Value::of(dtype, 0.0))],
            // Ids may be out of range, and sums overflow.
            Some((dtype, shape)) => {
                self.evaluation.extend(&self.placed);
                possible(self.evaluation.first(), dtype, &shape)
            }
        };
        let (call, contract) = step.contract_on(possible);
        let mut placed = Placed { step: Step { call, ..*step }, contract };
        let is_accepted = matches!(placed.contract, Contract::Accepts { .. });
        if is_accepted && step.times > Times::default() && !placed.returns_what_it_takes() {
            placed.contract = Contract::Unspecified(why::NOT_AGAIN);
        }
        Some(placed)
    }
}

/// The integers that an output may hold: those of the reference if it knows them all, else several that differ where it does not.
fn possible(reference: Option<&ArrayD<Num>>, dtype: DType, shape: &[usize]) -> Vec<Tensor> {
    let (low, high) = dtype.int_range().unwrap_or_default();
    // The largest integer is an id with a meaning of its own.
    let others = [0, high - 1, low];
    let Some(numbers) = reference.filter(|numbers| Some(numbers.len()) == product(shape)) else {
        return others.map(|integer| filled(dtype, shape, Value::Int(integer))).to_vec();
    };
    let is_known = |number: &Num| number.error == 0.0 && is_in(number, dtype);
    let with = |other: i64| {
        let value = |number: &Num| if is_known(number) { Value::of(dtype, number.value) } else { Value::Int(other) };
        Tensor::new(dtype, shape.to_vec(), numbers.iter().map(value).collect())
    };
    if numbers.iter().all(is_known) { vec![with(0)] } else { others.map(with).to_vec() }
}

/// A tensor with one value.
fn filled(dtype: DType, shape: &[usize], value: Value) -> Tensor {
    Tensor { dtype, shape: shape.to_vec(), view: View::default(), values: Values::Fill(Fill::constant(value)) }
}
