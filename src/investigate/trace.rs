//! Where NaN and infinities come from: the calls that return one although nothing that they are given holds any.

use std::collections::{BTreeMap, BTreeSet};

use super::non_finite::{Kind, Named, Spots, kinds, told};
use crate::case::{Backward, Case, Param};
use crate::exec::Worker;
use crate::number::Num;
use crate::ops::{Op, sequence};
use crate::oracle::Evidence;
use crate::outcome::{Gradients, Outcome};
use crate::tensor::{DType, Tensor, Value};

/// What the calls of a case make of numbers on one device.
#[derive(Debug, Default)]
pub struct Trace {
    /// The forward pass.
    pub forward: Half,
    /// The backward pass, where the case asks for one and the forward pass came to its end.
    pub backward: Option<Half>,
    /// The step that failed, and how: nothing behind it was seen.
    pub failed: Option<(Step, String)>,
}

/// What was seen in one direction.
#[derive(Debug, Default)]
pub struct Half {
    /// The calls that make a NaN or an infinity, in the order in which they run: the first is the origin.
    pub made: Vec<Made>,
    /// Whether any call returned one, made or passed on.
    pub seen: bool,
}

/// A call that makes a NaN or an infinity.
#[derive(Debug)]
pub struct Made {
    /// The call.
    pub step: Step,
    /// What it makes. What it is merely given is left out.
    pub spots: Vec<Spots>,
}

/// One call of the case and what it is given.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its place in the sequence, from 1; 1 for a single call.
    pub number: usize,
    /// Its op.
    pub op: &'static Op,
    /// The call alone, on what the one before returned.
    pub call: Case,
    /// Backward, the gradient that the step behind it passes on; none for the last.
    pub reached: Option<Tensor>,
}

/// Runs ever longer prefixes of `case` forward, then ever longer suffixes, on what the prefixes returned, backward: each shows
/// what one more call returns. Second derivatives are left out.
pub fn trace(worker: &mut Worker, case: &Case) -> anyhow::Result<Trace> {
    let mut whole = case.clone();
    if case.steps.is_empty() {
        whole = Case { backward: case.backward, ..Case::new(sequence::SEQUENCE.name) }.then(whole);
    }
    let mut trace = Trace::default();
    let steps = trace.run_forward(worker, &whole)?;
    if trace.failed.is_none() && !whole.backward.is_none() {
        trace.run_backward(worker, &whole, &steps)?;
    }
    Ok(trace)
}

/// What of NaN and infinities the case itself holds, which no call made; nothing for finite ones.
pub fn held(case: &Case) -> Option<String> {
    let held: Vec<Named> = numbers(case).into_iter().filter(|(_, number)| !kinds([number]).is_empty()).collect();
    (!held.is_empty()).then(|| told(&held, None))
}

/// All floats of `case`: inputs, and params as tensors of one element.
fn numbers(case: &Case) -> Vec<Named> {
    let inputs = case.inputs.iter().filter(|(_, tensor)| tensor.dtype.is_float());
    let inputs = inputs.map(|(name, tensor)| (format!("`{name}`"), tensor.clone()));
    let params = case.params.iter().filter_map(|(name, param)| match param {
        Param::Number(value @ Value::Float(_)) => {
            Some((format!("`{name}`"), Tensor::new(DType::F64, Vec::new(), vec![*value])))
        }
        Param::Number(Value::Int(_)) | Param::Text(_) | Param::List(_) => None,
    });
    inputs.chain(params).collect()
}

impl Trace {
    /// Runs the prefixes; the steps with what they are given.
    fn run_forward(&mut self, worker: &mut Worker, whole: &Case) -> anyhow::Result<Vec<Step>> {
        let mut steps = Vec::new();
        let mut flowing = None;
        for (place, (op, mut call)) in sequence::steps(whole).into_iter().enumerate() {
            if let Some(output) = flowing {
                call = call.input(op.support.of, output);
            }
            let step = Step { number: place + 1, op, call, reached: None };
            let prefix = Case { backward: Backward::None, ..sequence::prefix(whole, step.number) };
            let outputs = match worker.run(&prefix)?.outcome {
                Outcome::Returned(returned) => returned.outputs,
                other => {
                    self.failed = Some((step, other.summary()));
                    break;
                }
            };
            let name = |place: usize| if outputs.len() == 1 { String::new() } else { format!("output {}", place + 1) };
            let results: Vec<Named> = outputs.iter().enumerate().map(|(i, output)| (name(i), output.clone())).collect();
            self.forward.see(&step, &results);
            steps.push(step);
            flowing = outputs.into_iter().next();
        }
        Ok(steps)
    }

    /// Runs the suffixes of `steps`, which are all of `whole`.
    fn run_backward(&mut self, worker: &mut Worker, whole: &Case, steps: &[Step]) -> anyhow::Result<()> {
        let half = self.backward.insert(Half::default());
        let (backward, calls) = (whole.backward.min(Backward::Weighted), whole.calls());
        let mut reached = None;
        for step in steps.iter().rev() {
            let rest = calls[step.number..].iter().cloned();
            let suffix = whole.with_calls(std::iter::once(step.call.clone()).chain(rest).collect());
            let gradients = match worker.run(&Case { backward, ..suffix })?.outcome {
                Outcome::Returned(returned) => returned.backward,
                other => {
                    self.failed = Some((step.clone(), other.summary()));
                    break;
                }
            };
            let mut gradients = match gradients {
                Gradients::NotAsked => BTreeMap::new(),
                Gradients::Returned(store) => store.gradients,
                Gradients::Rejected(refusal) => {
                    self.failed = Some((step.clone(), Outcome::Rejected(refusal).summary()));
                    break;
                }
            };
            // Those of this step; the ones behind it had their turn.
            let own = |(name, gradient): (&String, &Tensor)| {
                Some((format!("the gradient of `{}`", name.strip_prefix("1.")?), gradient.clone()))
            };
            let results: Vec<Named> = gradients.iter().filter_map(own).collect();
            half.see(&Step { reached, ..step.clone() }, &results);
            reached = gradients.remove(&format!("1.{}", step.op.support.of));
        }
        Ok(())
    }

    /// The trace for people, of devices that are called `on`: an entry for each thing to know, which may have two lines.
    pub fn entries(&self, on: &str) -> Vec<String> {
        let halves = [("forward", Some(&self.forward)), ("backward", self.backward.as_ref())];
        let mut entries = Vec::new();
        let mut end = "";
        for (name, half) in halves.into_iter().filter_map(|(name, half)| Some((name, half?))) {
            entries.extend(half.made.iter().map(|made| made.entry(name, on)));
            if half.made.is_empty() {
                let given = if half.seen { ": what there is was given" } else { "" };
                entries.push(format!("no call {name} on {on}{given}"));
            }
            end = name;
        }
        if let Some((step, how)) = &self.failed {
            entries.push(format!("step {}, {} {end} on {on} ends the trace: {how}", step.number, step.op.name));
        }
        entries
    }
}

impl Half {
    /// Takes note of what a step returned.
    fn see(&mut self, step: &Step, results: &[Named]) {
        let numbers = numbers(&step.call);
        let known = kinds(numbers.iter().map(|(_, number)| number).chain(&step.reached));
        let found = kinds(results.iter().map(|(_, result)| result));
        self.seen |= !found.is_empty();
        let new: BTreeSet<Kind> = found.difference(&known).copied().collect();
        if new.is_empty() {
            return;
        }
        let spots = results.iter().enumerate().flat_map(|(place, result)| Spots::of(place, result, &new));
        let mut spots: Vec<Spots> = spots.collect();
        spots.sort_by_key(|spots| spots.kind);
        self.made.push(Made { step: step.clone(), spots });
    }
}

impl Made {
    fn entry(&self, half: &str, on: &str) -> String {
        let Step { number, op, call, reached } = &self.step;
        let spots: Vec<String> = self.spots.iter().map(ToString::to_string).collect();
        let mut given = numbers(call);
        given.extend(reached.clone().map(|gradient| ("the gradient that reached it".to_string(), gradient)));
        let given = (!given.is_empty()).then(|| format!("given {}", told(&given, self.spots.first())));
        let reference = if half == "forward" { self.reference() } else { None };
        let facts: Vec<String> = given.into_iter().chain(reference).collect();
        let what = format!("step {number}, {} {half} on {on}: {}\n{}", op.name, spots.join("; "), facts.join("; "));
        what.trim_end().to_string()
    }

    /// The first of the elements as the `f64` reference has it, where that knows it.
    fn reference(&self) -> Option<String> {
        let first = &self.spots[0];
        let evidence = Evidence::new(self.step.op, &self.step.call, &[]);
        let Num { value, error, .. } = *evidence.expected()?.get(first.result)?.iter().nth(first.first)?;
        if value.is_finite() && !error.is_finite() {
            return None;
        }
        let beyond = value.is_finite() && !first.dtype.round(value).is_finite();
        let beyond = if beyond { format!(", too large for {}", first.dtype) } else { String::new() };
        Some(format!("the reference{} is {value:?}{beyond}", first.there()))
    }
}
