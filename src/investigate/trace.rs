//! Where NaN and infinities come from: the calls that return one although their inputs hold none.

use std::collections::{BTreeMap, BTreeSet};

use super::non_finite::{Named, NonFinite, Occurrences, describe, kinds};
use crate::case::{Backward, Case, Param, PerStep};
use crate::exec::Worker;
use crate::number::Num;
use crate::ops::{Op, sequence};
use crate::oracle::Evidence;
use crate::outcome::{Gradients, Outcome};
use crate::tensor::{DType, Tensor, Value};

/// The NaN and infinities in both passes of a case on one device.
#[derive(Debug, Default)]
pub struct Trace {
    /// The forward pass.
    pub forward: PassTrace,
    /// The backward pass, if the case has one and the forward pass finished.
    pub backward: Option<PassTrace>,
    /// The step that failed, and how. The trace ends there.
    pub failed: Option<(Step, String)>,
}

/// The NaN and infinities in one pass.
#[derive(Debug, Default)]
pub struct PassTrace {
    /// The calls that produce a NaN or an infinity from other values, in the order in which they run.
    pub origins: Vec<Origin>,
    /// Whether any call returned one, produced or passed on.
    pub any: bool,
}

/// A call that produces a NaN or an infinity.
#[derive(Debug)]
pub struct Origin {
    /// The call.
    pub step: Step,
    /// What it produces. Kinds that its inputs hold already are left out.
    pub occurrences: Vec<Occurrences>,
}

/// One call of the case and its inputs.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its number among all calls, from 1.
    pub number: usize,
    /// Its name in the case, such as `step 2`, with the time if it is made several times.
    pub name: String,
    /// Its op.
    pub op: &'static Op,
    /// The call on its own, on the output of the step before it.
    pub call: Case,
    /// The input that this output is; `None` for the first step.
    pub flowing: Option<&'static str>,
    /// In the backward pass, the gradient from the next step; `None` for the last step.
    pub incoming_gradient: Option<Tensor>,
}

/// Runs longer and longer prefixes of `case` forward, then longer and longer suffixes backward, on the outputs of the prefixes.
/// Each run adds the results of one more call. Ignores second derivatives. An `Err` for a step that is made too often.
pub fn trace(worker: &mut Worker, case: &Case) -> anyhow::Result<Trace> {
    let mut whole = case.clone();
    if case.steps.is_empty() {
        whole = Case { backward: case.backward, ..Case::new(sequence::SEQUENCE.name) }.then(whole);
    }
    let calls: u32 = (0..whole.steps.len()).map(|place| whole.times.at(place).get()).sum();
    anyhow::ensure!(calls <= MOST_CALLS, "a trace runs each call alone: lower `times` to {MOST_CALLS} calls in all");
    let mut trace = Trace::default();
    let names = names(&whole);
    let whole = unrolled(&whole);
    let steps = trace.run_forward(worker, &whole, names)?;
    if trace.failed.is_none() && !whole.backward.is_none() {
        trace.run_backward(worker, &whole, &steps)?;
    }
    Ok(trace)
}

/// The most calls that are traced. Each takes a run of all calls before it, and one of all calls behind it.
const MOST_CALLS: u32 = 100;

/// The name of each call of a sequence.
fn names(case: &Case) -> Vec<String> {
    let of = |place: usize| {
        let times = case.times.at(place).get();
        (1..=times).map(move |time| {
            let step = place + 1;
            if times == 1 { format!("step {step}") } else { format!("step {step}, time {time}") }
        })
    };
    (0..case.steps.len()).flat_map(of).collect()
}

/// The sequence with a step for each time that a step is made.
fn unrolled(case: &Case) -> Case {
    let each = |call: Case| {
        let times = call.times.at(0).get();
        (0..times).map(move |_| Case { times: PerStep::default(), ..call.clone() })
    };
    case.with_calls(case.calls().into_iter().flat_map(each).collect())
}

/// Describes the inputs and params of the case that hold NaN or infinities; `None` if all are finite.
pub fn non_finite_inputs(case: &Case) -> Option<String> {
    let non_finite: Vec<Named> =
        float_inputs(case).into_iter().filter(|(_, tensor)| !kinds([tensor]).is_empty()).collect();
    (!non_finite.is_empty()).then(|| describe(&non_finite, None))
}

/// All floats of `case`: inputs, and params as tensors of one element.
fn float_inputs(case: &Case) -> Vec<Named> {
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
    /// Runs the prefixes. Returns the steps with their inputs.
    fn run_forward(&mut self, worker: &mut Worker, whole: &Case, names: Vec<String>) -> anyhow::Result<Vec<Step>> {
        let mut steps = Vec::new();
        let mut previous_output = None;
        for (index, (step, name)) in sequence::steps(whole).into_iter().zip(names).enumerate() {
            let (op, call, flowing) = (step.op, step.on(previous_output), step.flowing);
            let step = Step { number: index + 1, name, op, call, flowing, incoming_gradient: None };
            let prefix = Case { backward: Backward::None, ..sequence::prefix(whole, step.number) };
            let outputs = match worker.run_once(&prefix)? {
                Outcome::Returned(returned) => returned.outputs,
                other => {
                    self.failed = Some((step, other.summary()));
                    break;
                }
            };
            let name = |index: usize| if outputs.len() == 1 { String::new() } else { format!("output {}", index + 1) };
            let results: Vec<Named> = outputs.iter().enumerate().map(|(i, output)| (name(i), output.clone())).collect();
            self.forward.record(&step, &results);
            steps.push(step);
            previous_output = outputs.into_iter().next();
        }
        Ok(steps)
    }

    /// Runs the suffixes of `steps`, which are all steps of `whole`.
    fn run_backward(&mut self, worker: &mut Worker, whole: &Case, steps: &[Step]) -> anyhow::Result<()> {
        let pass = self.backward.insert(PassTrace::default());
        let (backward, calls) = (whole.backward.min(Backward::Weighted), whole.calls());
        let mut incoming_gradient = None;
        for step in steps.iter().rev() {
            let rest = calls[step.number..].iter().cloned();
            let suffix = whole.with_calls(std::iter::once(step.call.clone()).chain(rest).collect());
            let gradients = match worker.run_once(&Case { backward, ..suffix })? {
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
            // Only the gradients of this step: later steps were traced before.
            let own = |(name, gradient): (&String, &Tensor)| {
                Some((format!("the gradient of `{}`", name.strip_prefix("1.")?), gradient.clone()))
            };
            let results: Vec<Named> = gradients.iter().filter_map(own).collect();
            pass.record(&Step { incoming_gradient, ..step.clone() }, &results);
            incoming_gradient = step.flowing.and_then(|name| gradients.remove(&format!("1.{name}")));
        }
        Ok(())
    }

    /// The trace for people, in entries of one or two lines. `devices` are the names of the devices.
    pub fn entries(&self, devices: &str) -> Vec<String> {
        let passes = [("forward", Some(&self.forward)), ("backward", self.backward.as_ref())];
        let mut entries = Vec::new();
        let mut last_pass = "";
        for (name, pass) in passes.into_iter().filter_map(|(name, pass)| Some((name, pass?))) {
            entries.extend(pass.origins.iter().map(|origin| origin.entry(name, devices)));
            if pass.origins.is_empty() {
                let note = if pass.any { ": the inputs already contain them" } else { "" };
                entries.push(format!("no call {name} on {devices}{note}"));
            }
            last_pass = name;
        }
        if let Some((step, how)) = &self.failed {
            entries.push(format!("{}, {} {last_pass} on {devices} ends the trace: {how}", step.name, step.op.name));
        }
        entries
    }
}

impl PassTrace {
    /// Records the results of a step.
    fn record(&mut self, step: &Step, results: &[Named]) {
        let inputs = float_inputs(&step.call);
        let known = kinds(inputs.iter().map(|(_, input)| input).chain(&step.incoming_gradient));
        let found = kinds(results.iter().map(|(_, result)| result));
        self.any |= !found.is_empty();
        let new: BTreeSet<NonFinite> = found.difference(&known).copied().collect();
        if new.is_empty() {
            return;
        }
        let occurrences = results.iter().enumerate().flat_map(|(index, result)| Occurrences::of(index, result, &new));
        let mut occurrences: Vec<Occurrences> = occurrences.collect();
        occurrences.sort_by_key(|occurrences| occurrences.kind);
        self.origins.push(Origin { step: step.clone(), occurrences });
    }
}

impl Origin {
    fn entry(&self, pass: &str, devices: &str) -> String {
        let Step { name, op, call, incoming_gradient, .. } = &self.step;
        let occurrences: Vec<String> = self.occurrences.iter().map(ToString::to_string).collect();
        let mut inputs = float_inputs(call);
        inputs.extend(incoming_gradient.clone().map(|gradient| ("the gradient that reached it".to_string(), gradient)));
        let inputs = (!inputs.is_empty()).then(|| format!("given {}", describe(&inputs, self.occurrences.first())));
        let reference = if pass == "forward" { self.reference() } else { None };
        let facts = inputs.into_iter().chain(reference).collect::<Vec<_>>().join("; ");
        let entry = format!("{name}, {} {pass} on {devices}: {}\n{facts}", op.name, occurrences.join("; "));
        entry.trim_end().to_string()
    }

    /// The value of the first element in the `f64` reference, if it is known.
    fn reference(&self) -> Option<String> {
        let first = &self.occurrences[0];
        let evidence = Evidence::new(self.step.op, &self.step.call, &[]);
        let Num { value, error, .. } = *evidence.expected()?.get(first.result)?.iter().nth(first.first)?;
        if value.is_finite() && !error.is_finite() {
            return None;
        }
        let overflows = value.is_finite() && !first.dtype.round(value).is_finite();
        let note = if overflows { format!(", too large for {}", first.dtype) } else { String::new() };
        Some(format!("the reference{} is {value:?}{note}", first.position_suffix()))
    }
}
