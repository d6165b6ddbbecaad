//! Which cases an op accepts for running: those with all that its call needs, and nothing that the call would ignore.

use super::{Op, all, find, sequence};
use crate::case::{Case, DeviceObject, OTHER_THREADS, Specs, Times, nearest};
use crate::tensor::Tensor;

impl Op {
    /// What the op declares about its inputs and params.
    pub fn specs(&self) -> Specs {
        Specs { inputs: self.inputs, params: self.params }
    }

    /// The inputs of `call` in the order in which the op declares them, as candle's function takes them.
    pub fn in_order<'a>(&self, call: &'a Case) -> Vec<(&'a String, &'a Tensor)> {
        let place = |name: &str| self.inputs.iter().position(|spec| spec.name == name).unwrap_or(usize::MAX);
        let mut inputs: Vec<_> = call.inputs.iter().collect();
        inputs.sort_by_key(|(name, _)| place(name));
        inputs
    }

    /// Checks that a call of this op needs all that `case` has, and that `case` has all that the call needs. The error is a
    /// sentence.
    pub fn check(&self, case: &Case) -> Result<(), String> {
        if self.name != sequence::SEQUENCE.name {
            let of_sequences = [
                ("steps", case.steps.is_empty()),
                ("threads", case.threads.is_empty()),
                ("devices", case.devices.is_empty()),
                ("times", case.times.is_empty()),
            ];
            let checked = match of_sequences.into_iter().find(|(_, is_empty)| !is_empty) {
                Some((name, _)) => Err(format!("has `{name}`, which only the op `sequence` takes")),
                None => self.specs().check(case, false),
            };
            return checked.map_err(|problem| format!("{} {problem}", self.name));
        }
        if case.steps.is_empty() {
            return Err("sequence lacks `steps`, such as steps = [\"tensor.exp\", \"tensor.log\"]".to_string());
        }
        let has_more = |length: usize| length > case.steps.len();
        if has_more(case.threads.values().len()) || case.threads.others().any(|thread| thread > OTHER_THREADS) {
            let last = OTHER_THREADS;
            return Err(format!("sequence: `threads` has a number from 0 to {last} for each step, such as [0, 1]"));
        }
        if has_more(case.devices.values().len()) {
            return Err("sequence: `devices` has a word for each step, such as [\"own\", \"second\"]".to_string());
        }
        if has_more(case.times.values().len()) || case.times.at(0) != Times::default() {
            return Err(
                "sequence: `times` has a number for each step, and 1 for the first, such as [1, 1000]".to_string()
            );
        }
        let stray = |name: &&String| sequence::split(name).is_none_or(|(step, _)| step > case.steps.len());
        if let Some(name) = case.inputs.keys().chain(case.params.keys()).find(stray) {
            return Err(format!("sequence: `{name}` belongs to no step; the first step has `1.{name}`"));
        }
        for (index, call) in case.calls().iter().enumerate() {
            let place = |problem: String| format!("step {}: {problem}", index + 1);
            let op = named(&call.op).map_err(place)?;
            if op.name == self.name {
                return Err(place("a sequence cannot be a step".to_string()));
            }
            let checked = op.specs().check(call, index > 0);
            checked.map_err(|problem| place(format!("{} {problem}", op.name)))?;
            if call.devices.at(0) != DeviceObject::Own && DeviceObject::another(call.text("to")).is_some() {
                return Err(place(
                    "`to` names a device beside the case's own; leave out `to` or `devices`".to_string(),
                ));
            }
        }
        Ok(())
    }

    /// Moves each integer that is out of its param's range to the end of the range: mutations know numbers, but not ranges.
    pub fn clamp(&self, case: &mut Case) {
        self.each_call(case, Specs::clamp);
    }

    /// Gives each number the form of its param's type.
    pub fn normalize(&self, case: &mut Case) {
        self.each_call(case, Specs::normalize);
    }

    fn each_call(&self, case: &mut Case, change: fn(&Specs, &mut Case)) {
        if case.steps.is_empty() {
            return change(&self.specs(), case);
        }
        let mut calls = case.calls();
        for call in &mut calls {
            if let Some(op) = find(&call.op) {
                change(&op.specs(), call);
            }
        }
        for (index, call) in calls.into_iter().enumerate() {
            case.params.extend(call.params.into_iter().map(|(name, param)| (format!("{}.{name}", index + 1), param)));
        }
    }
}

/// The op of `case`, and the case with each number in the form of its param's type. The error is a sentence that says what to
/// change.
pub fn accept(mut case: Case) -> Result<(&'static Op, Case), String> {
    let op = named(&case.op)?;
    op.normalize(&mut case);
    op.check(&case)?;
    Ok((op, case))
}

/// The op of this name, or a sentence that names the most similar one.
pub fn named(name: &str) -> Result<&'static Op, String> {
    let missing = || match nearest(name, all().iter().map(|op| op.name)) {
        Some(known) => format!("there is no op `{name}`; did you mean `{known}`?"),
        None => format!("there is no op `{name}`; `snuffer ops` lists them"),
    };
    find(name).ok_or_else(missing)
}
