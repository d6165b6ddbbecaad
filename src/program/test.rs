//! A case as a test for candle's own suite: it fails today and passes once candle is fixed.

use super::body::{Body, Bound};
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

/// The digits after the point to which candle's own tests round.
const DIGITS: i32 = 4;

/// The most elements that a test compares one by one.
const ONE_BY_ONE: usize = 2;

/// A tolerance that is too small to matter.
const TINY: f64 = 1e-30;

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
        (Contract::Rejects(rule), _) => test.refuses(rule),
        (_, Outcome::Returned(returned)) if oracle == OracleName::Invariant => test.invariants(evidence, returned)?,
        (Contract::Unspecified(_), Outcome::Returned(_)) if oracle == OracleName::Checker => {
            return Err("a checker alone sees it".to_string());
        }
        (Contract::Unspecified(_), _) => test.survives(),
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
                test.survives()
            } else {
                test.accepts(evidence, backward)?
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
        let bound = match self.0.bound {
            Bound::Nothing => "()",
            Bound::One => "output",
            Bound::Several => "outputs",
        };
        self.push("let call = || -> Result<_> {");
        self.0.lines.extend(rest.iter().flat_map(|lines| lines.lines()).map(|line| format!("    {line}")));
        self.push(format!("    Ok({bound})\n}};\n{binding} = call();"));
    }

    /// Waits for the device, which reports errors late.
    fn synchronize(&mut self) {
        if self.0.device != Device::Cpu {
            self.push("device.synchronize()?;");
        }
    }

    /// Asserts an `Err` of the call.
    fn refuses(&mut self, rule: &Rule) -> String {
        self.bind_result("let called");
        self.push(format!("assert!(called.is_err(), \"{rule}\");"));
        self.synchronize();
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

    fn survives(&mut self) -> String {
        self.bind_result("// Any value will do, or an error.\nlet _");
        self.synchronize();
        "returns".to_string()
    }

    fn accepts(&mut self, evidence: &Evidence, backward: Backward) -> Result<String, String> {
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
        self.synchronize();
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
        if self.0.bound == Bound::Several { format!("outputs[{index}]") } else { "output".to_string() }
    }

    fn shapes(&mut self, outputs: &[(DType, Vec<usize>)]) -> String {
        if self.0.bound == Bound::Several {
            self.push(format!("assert_eq!(outputs.len(), {});", outputs.len()));
        }
        for (index, (dtype, shape)) in outputs.iter().enumerate() {
            let output = self.output(index);
            self.push(format!("assert_eq!({output}.shape().dims(), {shape:?});"));
            self.push(format!("assert_eq!({output}.dtype(), {});", rust::dtype(*dtype)));
        }
        "returns_the_right_shape".to_string()
    }

    fn values(&mut self, evidence: &Evidence, returned: &Returned) -> Result<String, String> {
        let outputs = evidence.expectations(returned);
        let all: usize = outputs.iter().map(Vec::len).sum();
        let before = self.0.lines.len();
        for (index, (expected, got)) in outputs.iter().zip(&returned.outputs).enumerate() {
            let output = self.output(index);
            self.compare(&output, got, &listed(expected, all), |position| position);
        }
        self.promise_since(before, "returns_the_right_values")
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
        let before = self.0.lines.len();
        let is_wrong = |one: &Expectation| !one.kept;
        let mut shows = false;
        for (name, grad) in &store.gradients {
            let (Some(var), data) = (var(name), &evidence.case.inputs[name]) else { continue };
            let expected = evidence.gradient_expectations(name, grad);
            shows |= expected.iter().any(is_wrong);
            let of = format!("grads.get(&{var}).expect(\"a gradient of {name}\")");
            let positions = data.buffer_positions();
            self.compare(&of, grad, &listed(&expected, expected.len()), |element| positions[element]);
        }
        if shows {
            return self.promise_since(before, "has_the_right_gradient");
        }
        // Elements that compete for a gradient: only their sum is known.
        let sums =
            store.gradients.iter().filter_map(|(name, grad)| Some((evidence.gradient_sum(name, grad)?, name, grad)));
        if let Some((expected, name, grad)) = sums.into_iter().find(|(expected, ..)| is_wrong(expected))
            && let Some(var) = var(name)
        {
            self.0.lines.truncate(before);
            let of = format!("grads.get(&{var}).expect(\"a gradient of {name}\").sum_all()?");
            let sum = Tensor::new(grad.dtype, vec![], vec![Value::of(grad.dtype, grad.floats().iter().sum())]);
            self.compare(&of, &sum, &[&expected], |element| element);
            return self.promise_since(before, "has_a_gradient_of_the_right_sum");
        }
        self.promise_since(before, "has_the_right_gradient")
    }

    /// `promise`, if the test has more than its first `lines` lines.
    fn promise_since(&self, lines: usize, promise: &str) -> Result<String, String> {
        let has_assertions = self.0.lines.len() > lines;
        has_assertions.then(|| promise.to_string()).ok_or_else(|| "no element has a known value".to_string())
    }

    /// Compares elements of the tensor expression `of`, which has the dtype of `got`; `position` gives the place of an element.
    fn compare(&mut self, of: &str, got: &Tensor, expected: &[&Expectation], position: impl Fn(usize) -> usize) {
        // Within an infinite distance lies every number.
        let expected: Vec<&Expectation> = expected.iter().copied().filter(|one| one.within.is_finite()).collect();
        if expected.is_empty() {
            return;
        }
        let (cast, typed) = match got.dtype {
            DType::F16 | DType::Bf16 | DType::F8e4m3 => (".to_device(&Device::Cpu)?.to_dtype(DType::F32)?", "f32"),
            other => ("", rust::type_name(other)),
        };
        let (values, shape) = (got.floats(), &got.shape);
        let are_all = expected.len() == values.len()
            && expected.iter().enumerate().all(|(place, one)| position(one.position) == place);
        let is_plain_zero =
            |one: &&Expectation| one.value == 0.0 && one.within <= TINY && (!one.kept || values[one.position] == 0.0);
        let is_exact = |one: &&Expectation| one.within == 0.0 && !one.value.is_nan() || is_plain_zero(one);
        // As many levels of brackets as candle has a method for.
        let (flat, sizes) = if shape.len() <= 3 { ("", &shape[..]) } else { (".flatten_all()?", &[values.len()][..]) };
        let (rank, nested) = (sizes.len(), |literals: &[String]| match sizes {
            [] => literals.concat(),
            _ => rust::nested(literals, sizes),
        });
        if are_all && expected.iter().all(is_exact) {
            let literal = |one: &&Expectation| literal(one.value, typed);
            let all = nested(&expected.iter().map(literal).collect::<Vec<_>>());
            let read = if rank == 0 { "to_scalar".to_string() } else { format!("to_vec{rank}") };
            return self.push(format!("assert_eq!({of}{flat}{cast}.{read}::<{typed}>()?, {all});"));
        }
        if are_all
            && typed == "f32"
            && let Some(rounded) = rounded(&expected, &values)
        {
            let all = nested(&rounded);
            return self
                .push(format!("assert_eq!(test_utils::to_vec{rank}_round(&{of}{flat}{cast}, {DIGITS})?, {all});"));
        }
        self.push(format!("let values = {of}.flatten_all()?{cast}.to_vec1::<{typed}>()?;"));
        // A tolerance far below every actual error would only distract.
        let is_near = |one: &&Expectation| !one.kept && (values[one.position] - one.value).abs() < 1e10 * TINY;
        let least = if expected.iter().any(is_near) { 0.0 } else { TINY };
        // With no more digits than the dtype has: the tolerance, if there is one, grows by what they leave out.
        let digits = |one: &Expectation| {
            let is_short = typed != "f64" && one.within > 0.0;
            rust::typed(Value::Float(one.value), if is_short { "f32" } else { "f64" })
        };
        let within = |one: &Expectation| {
            let written = digits(one).parse().unwrap_or(one.value);
            if one.within > 0.0 { rounded_up(one.within + (written - one.value).abs()).max(least) } else { 0.0 }
        };
        let number = |value| rust::number(Value::Float(value));
        if expected.len() <= ONE_BY_ONE || expected.iter().any(|one| !one.value.is_finite()) {
            for one in expected {
                let value = format!("values[{}]", position(one.position));
                let (expected, within) = (one.value, within(one));
                self.push(if expected.is_nan() {
                    format!("assert!({value}.is_nan());")
                } else if within == 0.0 || expected.is_infinite() {
                    format!("assert_eq!({value}, {});", literal(expected, typed))
                } else {
                    let wide = if typed == "f64" { "" } else { " as f64" };
                    let distance = format!("({value}{wide} - {}).abs()", digits(one));
                    format!("assert!({distance} <= {}, \"{{}}\", {value});", number(within))
                });
            }
            return;
        }
        let element =
            |one: &&Expectation| format!("({}, {}, {})", position(one.position), digits(one), number(within(one)));
        let elements: Vec<String> = expected.iter().map(element).collect();
        self.push(format!("for (place, expected, within) in [{}] {{", elements.join(", ")));
        let value = if typed == "f64" { "values[place]" } else { "values[place] as f64" };
        self.push(format!("    let value: f64 = {value};"));
        self.push(
            "    assert!((value - expected).abs() <= within, \"{value} at {place}, not {expected}\");\n}".to_string(),
        );
    }
}

/// A number of the type of elements `typed`.
fn literal(value: f64, typed: &str) -> String {
    match typed {
        "f32" | "f64" => rust::typed(Value::Float(value), typed),
        _ => format!("{}", value as i64),
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

/// The expected values in [`DIGITS`] digits, as candle's tests compare: if all that is near enough rounds to them, and some wrong one of the
/// values `got` does not.
fn rounded(expected: &[&Expectation], got: &[f64]) -> Option<Vec<String>> {
    const LARGEST: f64 = 1000.0;
    let unit = 10_f64.powi(DIGITS);
    let round = |value: f64| (value * unit).round() / unit;
    let is_settled = |one: &&Expectation| {
        let (value, within) = (one.value, one.within.max(1e-6));
        value.abs() < LARGEST && round(value - within) == round(value) && round(value + within) == round(value)
    };
    let is_seen = |one: &&Expectation| !one.kept && round(got[one.position]) != round(one.value);
    let is_enough = expected.iter().all(is_settled) && expected.iter().any(is_seen);
    // Without the sign of a zero.
    is_enough.then(|| expected.iter().map(|one| format!("{:?}", round(one.value) as f32 + 0.0)).collect())
}

/// A tolerance in four digits, rounded up: minimized cases are only just outside it.
fn rounded_up(bound: f64) -> f64 {
    format!("{:.3e}", bound * 1.0005).parse().unwrap_or(bound)
}
