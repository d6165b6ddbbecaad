//! A case as a test for candle's own suite: it fails today and passes once candle is fixed.

use super::body::{Body, Bound};
use super::comparison::{Compared, assertions};
use super::rust;
use super::test_file::test_file;
use super::test_text::Test;
use crate::case::{Backward, Case};
use crate::device::Device;
use crate::ops::{Contract, Law, Rule, invariants};
use crate::oracle::{Evidence, Expectation, OracleName, judge};
use crate::outcome::{CudaError, Gradients, Observation, Outcome, Phase, Returned};
use crate::tensor::{DType, Tensor, Value, product};

/// The most elements that a test lists; of a larger tensor, only elements that are wrong today.
const LISTED: usize = 16;

/// The test of the promise that `oracle` judges, given the observation `seen`. An `Err` says why there is none.
pub fn test(evidence: &Evidence, seen: &Observation, oracle: OracleName) -> Result<Test, String> {
    let in_backward = phase(&seen.outcome) == Some(Phase::Backward);
    let backward = match evidence.case.backward {
        _ if oracle != OracleName::Gradient && !in_backward => Backward::None,
        // A test asserts first derivatives.
        Backward::Twice => Backward::Weighted,
        asked => asked,
    };
    let mut test = Promised(Body::new(evidence.op, evidence.case, backward, seen.device, rust::HOST)?);
    if test.0.bound == Bound::Nothing && matches!(seen.outcome, Outcome::Returned(_)) {
        return Err("a random value has no expected value".to_string());
    }
    test.print_nothing();
    // Where a kernel asserts already, only an `Err` is better.
    let asserts = matches!(&seen.outcome, Outcome::Faulted(fault) if fault.kind == CudaError::Assert);
    let is_of_elements = !asserts && matches!(&evidence.contract, Contract::Rejects(rule) if rule.is_of_elements());
    // A kernel does not return an `Err`.
    let may_assert = is_of_elements && seen.device != Device::Cpu;
    let promise = match (&evidence.contract, &seen.outcome) {
        (Contract::Rejects(_), Outcome::OutOfMemory(_) | Outcome::TimedOut(_)) => {
            return Err("with enough memory and time, the test would pass".to_string());
        }
        (Contract::Rejects(rule), _) if may_assert => test.refuses_or_asserts(rule, &seen.outcome),
        (Contract::Rejects(rule), outcome) => test.refuses(rule, outcome),
        (_, Outcome::Returned(returned)) if oracle == OracleName::Invariant => test.invariants(evidence, returned)?,
        (Contract::Unspecified(_), Outcome::Returned(_)) if oracle == OracleName::Checker => {
            return Err("a checker alone sees it".to_string());
        }
        (Contract::Unspecified(_), outcome) => test.survives(outcome),
        (Contract::Accepts { .. }, Outcome::Unsupported(_) | Outcome::TimedOut(_)) => {
            return Err("the test would not end".to_string());
        }
        (Contract::Accepts { outputs, .. }, Outcome::Returned(returned)) => match oracle {
            OracleName::Contract => test.shapes(outputs),
            OracleName::Reference => test.values(evidence, returned)?,
            OracleName::Gradient => test.gradients(evidence, returned, backward)?,
            other => return Err(format!("no single call shows a violation of the {other} oracle")),
        },
        (Contract::Accepts { refusal, .. }, outcome)
            if [OracleName::Contract, OracleName::Fault, OracleName::Agreement].contains(&oracle) =>
        {
            // A fix of something worse may return an `Err` where that is promised, too.
            let is_worse = !matches!(outcome, Outcome::Rejected(_));
            if refusal.is_some() && is_worse && backward.is_none() {
                test.survives(outcome)
            } else {
                test.accepts(evidence, backward, outcome)?
            }
        }
        (Contract::Accepts { .. }, _) => return Err("nothing was returned".to_string()),
    };
    let call = evidence.op.name.rsplit('.').next().unwrap_or(evidence.op.name);
    // An `Err` of the call on the CPU may come later on CUDA.
    let is_for_all = !is_of_elements && is_alike_everywhere(evidence, backward)? && is_broken_alike(evidence, seen);
    let only = (!is_for_all).then_some(seen.device);
    let file = |package: &str| test_file(package, evidence.op, oracle);
    let test = Test::new(format!("{call}_{promise}"), &test.0, only, file);
    Ok(if may_assert { test.alone() } else { test })
}

/// True if the calls have the same text on each device: they move no input to another one.
fn is_alike_everywhere(evidence: &Evidence, backward: Backward) -> Result<bool, String> {
    let on = |device| Body::new(evidence.op, evidence.case, backward, device, rust::HOST).map(|body| body.lines);
    Ok(on(Device::Cpu)? == on(Device::Cuda(0))?)
}

/// True if the other devices keep the promise, or break it as that of `seen` does. A permitted refusal would fail the test of a valid call.
fn is_broken_alike(evidence: &Evidence, seen: &Observation) -> bool {
    let verdict = judge(evidence);
    let of = |device: Device| {
        let its = verdict.violations().iter().filter(move |found| found.device == device);
        its.map(|found| (found.oracle, &found.kind)).collect::<Vec<_>>()
    };
    let own = of(seen.device);
    evidence.observations.iter().filter(|other| other.device != seen.device).all(|other| match of(other.device) {
        its if its.is_empty() => {
            !matches!(other.outcome, Outcome::Rejected(_)) || matches!(evidence.contract, Contract::Rejects(_))
        }
        its => its.iter().any(|found| own.contains(found)),
    })
}

/// A case with the assertions of a promise.
struct Promised(Body);

impl Promised {
    fn push(&mut self, line: impl Into<String>) {
        self.0.lines.push(line.into());
    }

    /// Binds the `Result` of the call by `binding`. A closure has only the statements from the first on that may fail.
    fn bind_result(&mut self, binding: &str) {
        let mut statements: Vec<String> = Vec::new();
        for line in self.0.lines.split_off(self.0.first_call) {
            match statements.last_mut() {
                Some(last) if line.starts_with([' ', ')', ']', '}']) => *last += &format!("\n{line}"),
                _ => statements.push(line),
            }
        }
        let cannot_fail =
            |text: &&String| text.ends_with(';') && !text.contains('?') && !text.starts_with("let output");
        let plain = statements.iter().take_while(cannot_fail).count();
        let rest = statements.split_off(plain);
        self.0.lines.extend(statements);
        if let [only] = rest.as_slice()
            && let Some((_, call)) = only.strip_suffix("?;").and_then(|only| only.split_once(" = "))
            && ["let output = ", "let outputs = "].iter().any(|start| only.starts_with(start))
            && !call.contains(['?', ';'])
        {
            return self.push(format!("{binding} = {call};"));
        }
        let bound = self.0.bound.expression();
        self.push("let call = || -> Result<_> {");
        self.0.lines.extend(rest.iter().flat_map(|lines| lines.lines()).map(|line| format!("    {line}")));
        self.push(format!("    Ok({bound})\n}};\n{binding} = call();"));
    }

    /// Drops the lines that only print, as those of a program whose results are not bound, and the name that nothing uses then.
    fn print_nothing(&mut self) {
        if self.0.bound != Bound::Nothing {
            return;
        }
        self.0.lines.retain(|line| !line.trim_start().starts_with("println!("));
        if let Some(last) = self.0.lines.last_mut()
            && last.starts_with("let ")
            && let Some((_, call)) = last.split_once(" = ")
        {
            *last = call.to_string();
        }
    }

    /// Waits for the device, if the failure `seen` shows only then: a device reports its errors late.
    fn synchronize(&mut self, seen: &Outcome) {
        let is_late = matches!(seen, Outcome::Faulted(_) | Outcome::Died(_) | Outcome::TimedOut(_));
        if is_late && self.0.device != Device::Cpu {
            self.push("device.synchronize()?;");
        }
    }

    /// Asserts an `Err` of the call.
    fn refuses(&mut self, rule: &Rule, seen: &Outcome) -> String {
        self.bind_result("let called");
        self.push(format!("assert!(called.is_err(), \"{rule}\");"));
        self.synchronize(seen);
        Self::refusal_of(rule)
    }

    /// Asserts an `Err` of the call, or an assert of its kernel, and not the fault of `seen`.
    fn refuses_or_asserts(&mut self, rule: &Rule, seen: &Outcome) -> String {
        self.bind_result("let called");
        self.push(
            "// If a kernel asserts, waiting for it fails, and so does every later CUDA call of the process:\n\
             // this test needs a file of its own.\n\
             let called = called.and_then(|_| device.synchronize());",
        );
        self.push(match seen {
            Outcome::Faulted(fault) => format!(
                "let error = called.expect_err(\"{rule}\").to_string();\nassert!(!error.contains(\"{}\"), \"{{error}}\");",
                fault.kind.code()
            ),
            _ => format!("assert!(called.is_err(), \"{rule}\");"),
        });
        Self::refusal_of(rule)
    }

    /// The promise that a call which breaks `rule` fails.
    fn refusal_of(rule: &Rule) -> String {
        let words = rule.id.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<&str> = words.collect();
        let is_clause = words.iter().any(|word| ["is", "are", "do", "has", "leaves", "overflows"].contains(word));
        format!("{}_{}", if is_clause { "fails_if" } else { "rejects" }, words.join("_").to_lowercase())
    }

    fn survives(&mut self, seen: &Outcome) -> String {
        self.bind_result("// Any value will do, or an error.\nlet _");
        self.synchronize(seen);
        "returns".to_string()
    }

    fn accepts(&mut self, evidence: &Evidence, backward: Backward, seen: &Outcome) -> Result<String, String> {
        if self.0.vars.is_empty()
            && self.0.bound != Bound::Nothing
            && let Ok(promise) = self.values(evidence, &nothing(&evidence.contract))
        {
            return Ok(promise);
        }
        if !self.0.vars.is_empty() {
            self.0.start_backward(backward)?;
            self.has_gradients();
        } else if self.0.bound == Bound::Several
            && let Some(line) = self.0.lines.iter_mut().rfind(|line| line.starts_with("let outputs = "))
        {
            *line = line.replacen("let outputs = ", "let _ = ", 1);
        } else if let Some(line) = self.0.lines.iter_mut().rfind(|line| line.starts_with("let output = ")) {
            // The test does not use it.
            *line = line.replacen("let output = ", "", 1);
        }
        self.synchronize(seen);
        Ok("accepts_valid_arguments".to_string())
    }

    /// Asserts that there is a gradient of each input that has one.
    fn has_gradients(&mut self) {
        for (var, name) in self.0.vars.clone() {
            self.push(format!("assert!(grads.get(&{var}).is_some(), \"no gradient of {name}\");"));
        }
    }

    /// The expression of the output with this index.
    fn output(&self, index: usize) -> String {
        match self.0.bound {
            Bound::Several | Bound::Sizes => format!("outputs[{index}]"),
            Bound::Nothing | Bound::One => "output".to_string(),
        }
    }

    fn shapes(&mut self, outputs: &[(DType, Vec<usize>)]) -> String {
        if matches!(self.0.bound, Bound::Several | Bound::Sizes) {
            self.push(format!("assert_eq!(outputs.len(), {});", outputs.len()));
        }
        for (index, (dtype, shape)) in outputs.iter().enumerate() {
            let output = self.output(index);
            if self.0.bound == Bound::Sizes {
                self.push(format!("assert_eq!({output}.len(), {});", product(shape).unwrap_or_default()));
                continue;
            }
            self.push(format!("assert_eq!({output}.shape().dims(), {shape:?});"));
            self.push(format!("assert_eq!({output}.dtype(), {});", rust::dtype(*dtype)));
        }
        "returns_the_right_shape".to_string()
    }

    fn values(&mut self, evidence: &Evidence, returned: &Returned) -> Result<String, String> {
        let outputs = evidence.expectations(returned);
        let all: usize = outputs.iter().map(Vec::len).sum();
        let outputs = outputs.iter().zip(&returned.outputs).enumerate().map(|(index, (expected, got))| {
            let compared = Compared::tensor(self.output(index), got, &listed(expected, all), |position| position);
            if self.0.bound == Bound::Sizes { compared.into_list() } else { compared }
        });
        let outputs: Vec<Compared> = outputs.collect();
        self.compare(&outputs, "returns_the_right_values")
    }

    fn invariants(&mut self, evidence: &Evidence, returned: &Returned) -> Result<String, String> {
        let Some(output) = returned.outputs.first() else { return Err("there is no output".to_string()) };
        let case = evidence.op.complete(evidence.case);
        let laws = invariants(&case).map(|invariant| invariant.law);
        let broken: Vec<Law> = laws.filter(|law| law.first_broken(&case, output).is_some()).collect();
        if broken.iter().any(|law| matches!(law, Law::Sorts)) {
            self.sorts(&case);
            return Ok("sorts_the_numbers_of_each_row".to_string());
        }
        let conditions: Vec<String> = broken.into_iter().filter_map(Law::condition).collect();
        let of = self.output(0);
        for condition in &conditions {
            let cast = ".flatten_all()?.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.to_vec1::<f64>()?";
            self.push(format!("for value in {of}{cast} {{\n    assert!({condition}, \"{{value:?}}\");\n}}"));
        }
        let promise = || "keeps_to_its_range".to_string();
        if conditions.is_empty() { Err("no condition on single elements shows it".to_string()) } else { Ok(promise()) }
    }

    /// Asserts that the positions in the output sort `x`, but for NaN.
    fn sorts(&mut self, case: &Case) {
        let backwards = if case.int("asc") == 0 { ".rev()" } else { "" };
        let single = if case.tensor("x").is_some_and(|x| x.dtype == DType::F8e4m3) {
            // An 8-bit float has no direct conversion to f64 that ends.
            ".to_dtype(DType::F32)?"
        } else {
            ""
        };
        self.push(format!(
            "let numbers = x.to_device(&Device::Cpu)?{single}.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>()?;\n\
             let (size, order) = (x.dims()[x.rank() - 1], output.flatten_all()?.to_vec1::<u32>()?);\n\
             for (row, order) in numbers.chunks(size).zip(order.chunks(size)) {{\n    \
             let sorted: Vec<f64> = order.iter(){backwards}.map(|&at| row[at as usize]).filter(|x| !x.is_nan()).collect();\n    \
             assert!(sorted.is_sorted(), \"{{sorted:?}}\");\n}}"
        ));
    }

    fn gradients(&mut self, evidence: &Evidence, returned: &Returned, backward: Backward) -> Result<String, String> {
        let store = match &returned.backward {
            Gradients::NotAsked => return Err("the case asks for no gradient".to_string()),
            Gradients::Rejected(_) => {
                self.0.start_backward(backward)?;
                self.has_gradients();
                return Ok("has_a_backward_pass".to_string());
            }
            Gradients::Returned(store) => store,
        };
        self.0.start_backward(backward)?;
        let vars = self.0.vars.clone();
        let var = |name: &String| vars.iter().find(|(_, of)| of == name).map(|(var, _)| var);
        for name in &store.missing {
            if let Some(var) = var(name) {
                self.push(format!("assert!(grads.get(&{var}).is_some(), \"no gradient of {name}\");"));
            }
        }
        if !store.missing.is_empty() {
            return Ok("has_a_gradient".to_string());
        }
        let is_wrong = |one: &Expectation| !one.kept;
        let (mut compared, mut shows) = (Vec::new(), false);
        for (name, grad) in &store.gradients {
            let (Some(var), data) = (var(name), &evidence.case.inputs[name]) else { continue };
            let expected = evidence.gradient_expectations(name, grad);
            shows |= expected.iter().any(is_wrong);
            let of = format!("grads.get(&{var}).expect(\"a gradient of {name}\")");
            let positions = data.buffer_positions();
            let listed = listed(&expected, expected.len());
            compared.push(Compared::tensor(of, grad, &listed, |element| positions[element]));
        }
        // Elements that compete for a gradient: only their sum is known.
        let mut sums =
            store.gradients.iter().filter_map(|(name, grad)| Some((evidence.gradient_sum(name, grad)?, name, grad)));
        if !shows
            && let Some((expected, name, grad)) = sums.find(|(expected, ..)| is_wrong(expected))
            && let Some(var) = var(name)
        {
            let of = format!("grads.get(&{var}).expect(\"a gradient of {name}\").sum_all()?");
            let sum = Tensor::new(grad.dtype, vec![], vec![Value::of(grad.dtype, grad.floats().iter().sum())]);
            let sum = Compared::tensor(of, &sum, &[&expected], |element| element);
            return self.compare(&[sum], "has_a_gradient_of_the_right_sum");
        }
        self.compare(&compared, "has_the_right_gradient")
    }

    /// Asserts all that is expected of these, which is the `promise`.
    fn compare(&mut self, all: &[Compared], promise: &str) -> Result<String, String> {
        let lines = assertions(all);
        if lines.is_empty() {
            return Err("no element has a known value".to_string());
        }
        self.0.lines.extend(lines);
        Ok(promise.to_string())
    }
}

/// Outputs as promised, with values that nobody expects.
fn nothing(contract: &Contract) -> Returned {
    let Contract::Accepts { outputs, .. } = contract else { return Returned::default() };
    if outputs.iter().any(|(_, shape)| product(shape).is_none_or(|size| size > LISTED)) {
        return Returned::default();
    }
    let output = |(dtype, shape): &(DType, Vec<usize>)| {
        let values = vec![Value::of(*dtype, f64::NAN); shape.iter().product()];
        Tensor::new(*dtype, shape.clone(), values)
    };
    Returned { outputs: outputs.iter().map(output).collect(), ..Returned::default() }
}

/// The phase in which a call ended that did not return.
fn phase(outcome: &Outcome) -> Option<Phase> {
    match outcome {
        Outcome::Panicked(panic) => Some(panic.phase),
        Outcome::Faulted(fault) => Some(fault.phase),
        Outcome::Died(death) => Some(death.phase),
        Outcome::StackOverflow(phase) | Outcome::OutOfMemory(phase) | Outcome::TimedOut(phase) => Some(*phase),
        Outcome::Returned(_) | Outcome::Rejected(_) | Outcome::Unsupported(_) => None,
    }
}

/// The expectations that are worth listing, out of `all` of them.
fn listed(expected: &[Expectation], all: usize) -> Vec<&Expectation> {
    if all <= LISTED {
        return expected.iter().collect();
    }
    expected.iter().filter(|expected| !expected.kept).take(LISTED).collect()
}
