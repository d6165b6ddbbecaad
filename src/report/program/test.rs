//! A case as a test for candle's own: what should happen, so that it fails today and passes once that does.

use super::body::{Body, Bound};
use super::{literal, memory};
use crate::case::Backward;
use crate::device::Device;
use crate::ops::Contract;
use crate::oracle::{Evidence, Expectation, OracleName};
use crate::outcome::{Gradients, Observation, Outcome, Phase, Returned};
use crate::tensor::{DType, Tensor, Value};

/// The most elements that a test lists; of more, those that are wrong today.
const LISTED: usize = 16;

/// The test of what `oracle` says of the case, given what was `seen` of it. An `Err` says why there is none.
pub fn test(evidence: &Evidence, seen: &Observation, oracle: OracleName) -> Result<String, String> {
    let in_backward = phase(&seen.outcome) == Some(Phase::Backward);
    let backward = if oracle == OracleName::Gradient || in_backward { evidence.case.backward } else { Backward::None };
    let mut test = Test(Body::new(evidence.op, evidence.case, backward, seen.device)?);
    if test.0.bound == Bound::Nothing && matches!(seen.outcome, Outcome::Returned(_)) {
        return Err("nobody can say what a random value should be".to_string());
    }
    let promise = match (&evidence.contract, &seen.outcome) {
        (Contract::Rejects(rule), _) => test.refuses(rule),
        (Contract::Unspecified(_), _) => test.survives(),
        (Contract::Accepts { .. }, Outcome::Unsupported(_) | Outcome::TimedOut(_)) => {
            return Err("a test would not end".to_string());
        }
        (Contract::Accepts { outputs, .. }, Outcome::Returned(returned)) => match oracle {
            OracleName::Contract => test.shapes(outputs),
            OracleName::Reference => test.values(evidence, returned)?,
            OracleName::Gradient => test.gradients(evidence, returned, backward)?,
            other => return Err(format!("no single call shows what the oracle of {other} says")),
        },
        (Contract::Accepts { .. }, _) if [OracleName::Contract, OracleName::Fault].contains(&oracle) => {
            test.accepts(backward)
        }
        (Contract::Accepts { .. }, _) => return Err("nothing was returned".to_string()),
    };
    let name = format!("{}_{promise}", evidence.op.name.replace('.', "_"));
    let uses = test.0.uses(&["Device", "Result", "Tensor"]);
    let uses: Vec<String> = uses.lines().map(|line| format!("    {line}")).collect();
    let (uses, body) = (uses.join("\n"), test.0.indented());
    Ok(format!("#[test]\nfn {name}() -> Result<()> {{\n{uses}\n\n{body}    Ok(())\n}}\n"))
}

struct Test(Body);

impl Test {
    fn push(&mut self, line: impl Into<String>) {
        self.0.lines.push(line.into());
    }

    /// The call as something that can be asked for its result, bound to `called`.
    fn ask(&mut self) {
        let lines = self.0.lines.split_off(self.0.called);
        if let [line] = lines.as_slice()
            && let Some(call) = line.strip_prefix("let output = ").and_then(|line| line.strip_suffix("?;"))
            && !call.contains('?')
        {
            return self.push(format!("let called = {call};"));
        }
        let bound = match self.0.bound {
            Bound::Nothing => "()",
            Bound::One => "output",
            Bound::Several => "outputs",
        };
        self.push("let call = || -> Result<_> {");
        let lines = lines.iter().flat_map(|lines| lines.lines()).map(|line| format!("    {line}"));
        self.0.lines.extend(lines);
        self.push(format!("    Ok({bound})\n}};\nlet called = call();"));
    }

    /// What a device says of a call comes when it is waited for.
    fn synchronize(&mut self) {
        if self.0.device != Device::Cpu {
            self.push("device.synchronize()?;");
        }
    }

    fn refuses(&mut self, rule: &str) -> String {
        self.ask();
        self.push(format!("assert!(called.is_err(), \"{rule}\");"));
        self.synchronize();
        let words = rule.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        format!("refuses_{}", words.collect::<Vec<_>>().join("_").to_lowercase())
    }

    fn survives(&mut self) -> String {
        self.ask();
        self.push("// An error or a value, but nothing worse.\nlet _ = called;");
        self.synchronize();
        "returns".to_string()
    }

    fn accepts(&mut self, backward: Backward) -> String {
        if !self.0.vars.is_empty() {
            self.0.start_backward(backward);
        } else if let Some(line) = self.0.lines.iter_mut().rfind(|line| line.starts_with("let output = ")) {
            // Nobody looks at it.
            *line = line.replacen("let output = ", "", 1);
        }
        self.synchronize();
        "accepts_valid_arguments".to_string()
    }

    /// The output at this place.
    fn output(&self, place: usize) -> String {
        if self.0.bound == Bound::Several { format!("outputs[{place}]") } else { "output".to_string() }
    }

    fn shapes(&mut self, outputs: &[(DType, Vec<usize>)]) -> String {
        if self.0.bound == Bound::Several {
            self.push(format!("assert_eq!(outputs.len(), {});", outputs.len()));
        }
        for (place, (dtype, shape)) in outputs.iter().enumerate() {
            let output = self.output(place);
            self.push(format!("assert_eq!({output}.shape().dims(), {shape:?});"));
            self.push(format!("assert_eq!({output}.dtype(), {});", literal::dtype(*dtype)));
        }
        "returns_the_right_shape".to_string()
    }

    fn values(&mut self, evidence: &Evidence, returned: &Returned) -> Result<String, String> {
        let outputs = evidence.expectations(returned);
        let all: usize = outputs.iter().map(Vec::len).sum();
        let before = self.0.lines.len();
        for (place, (wanted, got)) in outputs.iter().zip(&returned.outputs).enumerate() {
            let output = self.output(place);
            self.compare(&output, got, &listed(wanted, all), |position| position);
        }
        self.says(before, "returns_the_right_values")
    }

    fn gradients(&mut self, evidence: &Evidence, returned: &Returned, backward: Backward) -> Result<String, String> {
        let store = match &returned.backward {
            Gradients::NotAsked => return Err("no gradient was asked for".to_string()),
            Gradients::Rejected(_) => {
                self.0.start_backward(backward);
                return Ok("has_a_backward_pass".to_string());
            }
            Gradients::Returned(store) => store,
        };
        self.0.start_backward(backward);
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
        for (name, grad) in &store.gradients {
            let (Some(var), data) = (var(name), &evidence.case.inputs[name]) else { continue };
            let wanted = evidence.gradient_expectations(name, grad);
            let of = format!("grads.get(&{var}).expect(\"a gradient of {name}\")");
            let positions = memory::positions(data);
            self.compare(&of, grad, &listed(&wanted, wanted.len()), |element| positions[element]);
        }
        self.says(before, "has_the_right_gradient")
    }

    /// What the test is of, if there is anything after the first so many lines.
    fn says(&self, lines: usize, promise: &str) -> Result<String, String> {
        let says = self.0.lines.len() > lines;
        says.then(|| promise.to_string()).ok_or_else(|| "of no element the right value is known".to_string())
    }

    /// Compares elements of the tensor `of`, which is like `got`; each lies where `position` says.
    fn compare(&mut self, of: &str, got: &Tensor, wanted: &[&Expectation], position: impl Fn(usize) -> usize) {
        if wanted.is_empty() {
            return;
        }
        let (cast, typed) = match got.dtype {
            DType::F16 | DType::Bf16 | DType::F8e4m3 => (".to_device(&Device::Cpu)?.to_dtype(DType::F32)?", "f32"),
            other => ("", literal::rust(other)),
        };
        self.push(format!("let values = {of}.flatten_all()?{cast}.to_vec1::<{typed}>()?;"));
        let number = |value| literal::number(Value::Float(value));
        let element = |wanted: &&Expectation| {
            format!("({}, {}, {})", position(wanted.position), number(wanted.value), number(within(wanted.within)))
        };
        let elements: Vec<String> = wanted.iter().map(element).collect();
        self.push(format!("for (place, expected, within) in [{}] {{", elements.join(", ")));
        let value = if typed == "f64" { "values[place]" } else { "values[place] as f64" };
        self.push(format!("    let value: f64 = {value};"));
        let finite = wanted.iter().all(|wanted| wanted.value.is_finite());
        let special = if finite { "" } else { "value == expected || value.is_nan() && f64::is_nan(expected) || " };
        self.push(format!(
            "    assert!({special}(value - expected).abs() <= within, \"{{value}} at {{place}}, not {{expected}}\");\n}}"
        ));
    }
}

/// How far a call came that did not return.
fn phase(outcome: &Outcome) -> Option<Phase> {
    match outcome {
        Outcome::Panicked(panic) => Some(panic.phase),
        Outcome::Faulted(fault) => Some(fault.phase),
        Outcome::Died(death) => Some(death.phase),
        Outcome::StackOverflow(phase) | Outcome::OutOfMemory(phase) | Outcome::TimedOut(phase) => Some(*phase),
        Outcome::Returned(_) | Outcome::Rejected(_) | Outcome::Unsupported(_) => None,
    }
}

/// What is worth listing of `all` elements.
fn listed(wanted: &[Expectation], all: usize) -> Vec<&Expectation> {
    if all <= LISTED {
        return wanted.iter().collect();
    }
    wanted.iter().filter(|wanted| !wanted.kept).take(LISTED).collect()
}

/// A tolerance in four digits, rounded up: minimized cases are only just outside it.
fn within(bound: f64) -> f64 {
    format!("{:.3e}", bound * 1.0005).parse().unwrap_or(bound)
}
