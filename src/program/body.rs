//! What programs and tests share: the inputs of a case, its calls, and the start of its backward pass.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use super::imports::{Imports, is_used};
use super::{rust, templates};
use crate::case::{Backward, Case, DeviceObject, Repeat, Times, weight};
use crate::device::Device;
use crate::ops::sequence::{self, Step};
use crate::ops::{Contract, Op, opened_in_rust};
use crate::tensor::{DType, Tensor, Value, product};

/// The inputs and calls of a case, line by line.
pub struct Body {
    pub lines: Vec<String>,
    /// The variables that need a gradient, each with the name of its input.
    pub vars: Vec<(String, String)>,
    pub device: Device,
    /// The expression of a device of the CPU.
    host: &'static str,
    pub bound: Bound,
    /// The line at which the first call begins.
    pub first_call: usize,
    /// The host thread of the step that is being written.
    thread: usize,
    /// The device object that it is made on.
    object: DeviceObject,
    /// The input of that step that flows into it.
    flowing: Option<&'static str>,
    /// The promised output of the last call, if it is one tensor.
    pub output: Option<(DType, Vec<usize>)>,
}

/// What the lines of a call bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Nothing: they print their results.
    Nothing,
    /// `output`.
    One,
    /// `outputs`, which are tensors.
    Several,
    /// `outputs`, which are lists of sizes.
    Sizes,
}

impl Bound {
    /// The expression of all that is bound.
    pub const fn expression(self) -> &'static str {
        match self {
            Self::Nothing => "()",
            Self::One => "output",
            Self::Several | Self::Sizes => "outputs",
        }
    }
}

/// How the lines of a call begin that bind lists of sizes.
const SIZES: &str = "let mut outputs: Vec<Vec<usize>> = ";

/// The variable of a device object.
const fn variable(object: DeviceObject) -> &'static str {
    match object {
        DeviceObject::Own => "device",
        DeviceObject::Second => "second_gpu",
        DeviceObject::Again => "opened_again",
        DeviceObject::OwnStream => "own_stream",
    }
}

/// `lines` with another name for the variable `old`.
fn renamed(lines: &str, old: &str, new: &str) -> String {
    let is_of_a_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut text = String::new();
    let mut rest = lines;
    while let Some((before, after)) = rest.split_once(old) {
        // A word that contains it, or a method of this name.
        let is_another = before.ends_with(|c: char| is_of_a_word(c) || c == '.') || after.starts_with(is_of_a_word);
        text += before;
        text += if is_another { old } else { new };
        rest = after;
    }
    text + rest
}

impl Body {
    /// The inputs and calls of `case`, with variables for the gradients that `backward` needs. `host` is the expression of a device of
    /// the CPU.
    pub fn new(op: &Op, case: &Case, backward: Backward, device: Device, host: &'static str) -> Result<Self, String> {
        let whole = &Case { backward, ..case.clone() };
        let mut body = Self {
            lines: Vec::new(),
            vars: Vec::new(),
            device,
            host,
            bound: Bound::Nothing,
            first_call: usize::MAX,
            thread: 0,
            object: DeviceObject::Own,
            flowing: None,
            output: match op.contract(case) {
                Contract::Accepts { outputs, .. } if outputs.len() == 1 => outputs.into_iter().next(),
                _ => None,
            },
        };
        let threads: BTreeSet<_> = case.threads.others().collect();
        body.lines.extend(threads.into_iter().map(|thread| {
            format!(
                "let thread_{thread} = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect(\"a thread\");"
            )
        }));
        if let Some(gpu) = body.gpu() {
            let objects: BTreeSet<_> = case.devices.others().collect();
            body.lines.extend(objects.into_iter().map(|object| {
                let opened = opened_in_rust(object, gpu);
                format!("let {} = {opened};", variable(object))
            }));
        }
        let steps = sequence::steps(case);
        if steps.is_empty() {
            body.call((op, case, case), whole, "")?;
        }
        let whole_calls = sequence::whole_calls(case);
        for (number, (step, whole_call)) in steps.iter().zip(&whole_calls).enumerate() {
            let Step { op, call, flowing, thread, device, times } = step;
            let moves = body.gpu().is_some() && body.object != *device;
            (body.thread, body.object, body.flowing) = (*thread, *device, *flowing);
            if let Some(name) = flowing {
                body.rename_output(name);
                let moved = format!("let {name} = {name}.to_device(&device)?;");
                body.lines.extend(moves.then(|| body.in_place(moved)));
            }
            let first = body.lines.len();
            let start = body.call((op, call, whole_call), whole, &format!("{}.", number + 1))?;
            for place in first..body.lines.len() {
                let lines = mem::take(&mut body.lines[place]);
                body.lines[place] = body.in_place(lines);
            }
            if let Some(name) = flowing.filter(|_| *times > Times::default()) {
                body.again(start, name, *times);
            }
        }
        if let Some(repeat) = case.repeat {
            let first = if steps.is_empty() { case } else { &steps[0].call };
            body.repeat(repeat, first);
        }
        Ok(body)
    }

    /// The number of the GPU; `None` for the CPU, which has one device object.
    fn gpu(&self) -> Option<u8> {
        match self.device {
            Device::Cpu => None,
            Device::Cuda(ordinal) | Device::Sim(ordinal) => Some(ordinal),
        }
    }

    /// `lines` with the device object of the step in place of the case's own.
    fn in_place(&self, lines: String) -> String {
        match self.gpu() {
            Some(_) if self.object != DeviceObject::Own => renamed(&lines, "device", variable(self.object)),
            _ => lines,
        }
    }

    /// Puts the call of a step, which begins with the line `start`, into a loop, each time on its own output.
    fn again(&mut self, start: usize, name: &str, times: Times) {
        let call = self.lines.split_off(start);
        let (again, last) = match self.bound {
            Bound::Several => (format!("{name} = outputs[0].clone();"), format!("let outputs = vec![{name}];")),
            _ => (format!("{name} = output;"), format!("let output = {name};")),
        };
        let looped = call.iter().flat_map(|lines| lines.lines()).map(|line| format!("    {line}"));
        self.lines.extend([format!("let mut {name} = {name};"), format!("for _ in 0..{} {{", times.get())]);
        self.lines.extend(looped.collect::<Vec<_>>());
        self.lines.extend([format!("    {again}"), "}".to_string(), last]);
    }

    /// Puts the calls, the first of which is `first`, into a loop before the last time.
    fn repeat(&mut self, repeat: Repeat, first: &Case) {
        let calls = self.lines.iter().skip(self.first_call);
        let calls: Vec<String> = calls.flat_map(|line| line.lines()).map(|line| format!("    {line}")).collect();
        let used = first.inputs.keys().filter(|name| calls.iter().any(|line| is_used(name, line)));
        let copies: Vec<_> = used.map(|name| format!("    let {name} = {name}.copy()?;")).collect();
        let begin = format!("// Watch the memory in use.\nfor _ in 1..{} {{", repeat.times());
        let looped: Vec<String> = std::iter::once(begin).chain(copies).chain(calls).chain(["}".to_string()]).collect();
        self.lines.splice(self.first_call..self.first_call, looped);
    }

    /// Adds `call` and its inputs, whose names in `whole` start with `prefix`. `whole_call` also has the input that flows into it.
    /// Returns the line at which the call begins, after its inputs.
    fn call(
        &mut self,
        (op, call, whole_call): (&Op, &Case, &Case),
        whole: &Case,
        prefix: &str,
    ) -> Result<usize, String> {
        let mut shared = BTreeMap::new();
        for buffer in call.shared() {
            let (owner, _, _) = &buffer.parts[0];
            let mut before = Vec::new();
            let made = self.in_thread(rust::buffer(owner, &buffer.whole, self.host, &mut before)?);
            self.lines.append(&mut before);
            self.lines.push(format!("// More than one input lies in this buffer.\nlet {owner}_buffer = {made};"));
            let part = |(name, start, length): &(String, usize, usize)| {
                let part = rust::part(&call.inputs[name], *start, *length, &buffer.whole);
                (name.clone(), format!("{owner}_buffer{part}"))
            };
            shared.extend(buffer.parts.iter().map(part));
        }
        let mut lines = templates::rust_call(op, whole_call, self.device)?;
        let text = lines.join("\n");
        for (name, data) in op.in_order(call) {
            let own = format!("{prefix}{name}");
            let has_gradient = op.has_gradient(whole, &own);
            if !has_gradient && !is_used(name, &text) {
                // The call takes its shape or dtype alone.
                continue;
            }
            match shared.get(name) {
                Some(part) => self.lines.push(format!("let {name} = {part}{};", rust::view(data))),
                None => self.input(name, &own, data, has_gradient)?,
            }
        }
        let binds = |name: &str| {
            let forms = [format!("let {name} "), format!("let mut {name} ")];
            lines.iter().any(|line| forms.iter().any(|form| line.starts_with(form)))
        };
        self.bound = match lines.last() {
            _ if lines.iter().any(|line| line.starts_with(SIZES)) => Bound::Sizes,
            _ if binds("outputs") => Bound::Several,
            Some(last) if last.starts_with("println!") => Bound::Nothing,
            _ => Bound::One,
        };
        // The expression at the end may span several lines.
        let start = lines.iter().rposition(|line| !line.starts_with([' ', ')', '}']));
        if self.bound == Bound::One
            && !binds("output")
            && let (Some(start), Some(last)) = (start, lines.len().checked_sub(1))
        {
            lines[start].insert_str(0, "let output = ");
            lines[last].push(';');
        }
        let start = self.lines.len();
        self.first_call = self.first_call.min(start);
        if self.thread > 0 {
            let result = self.bound.expression();
            let binding = if self.bound == Bound::Nothing { String::new() } else { format!("let {result} = ") };
            self.lines.push(format!("{binding}thread_{}.install(|| -> Result<_> {{", self.thread));
            self.lines.extend(self.flowing.map(|name| format!("    let {name} = {name}; // This thread drops it.")));
            self.lines.extend(lines.iter().map(|line| format!("    {line}")));
            self.lines.extend([format!("    Ok({result})"), "})?;".to_string()]);
        } else {
            self.lines.extend(lines);
        }
        Ok(start)
    }

    /// An expression, evaluated in the thread of the step.
    fn in_thread(&self, expression: String) -> String {
        match self.thread {
            0 => expression,
            thread => format!("thread_{thread}.install(|| -> Result<_> {{ Ok({expression}) }})?"),
        }
    }

    /// Binds the first output of the previous call to `name`.
    fn rename_output(&mut self, name: &str) {
        let output = self.lines.iter_mut().rfind(|line| line.starts_with("let output = "));
        match (self.bound, output) {
            (Bound::One, Some(line)) => *line = line.replacen("output", name, 1),
            (Bound::Several, _) => self.lines.push(format!("let {name} = outputs[0].clone();")),
            _ => {}
        }
    }

    fn input(&mut self, name: &str, own: &str, data: &Tensor, has_gradient: bool) -> Result<(), String> {
        let mut before = Vec::new();
        let buffer = rust::buffer(name, data, self.host, &mut before)?;
        self.lines.append(&mut before);
        let view = rust::view(data);
        if has_gradient {
            let var = own.split_once('.').map_or(format!("{own}_var"), |(step, name)| format!("{name}_var{step}"));
            self.lines.push(format!("let {var} = {};", self.in_thread(format!("Var::from_tensor(&{buffer})?"))));
            let view = if view.is_empty() { ".clone()".to_string() } else { view };
            self.lines.push(format!("let {name} = {var}.as_tensor(){view};"));
            self.vars.push((var, own.to_string()));
        } else {
            self.lines.push(format!("let {name} = {};", self.in_thread(format!("{buffer}{view}"))));
        }
        Ok(())
    }

    /// Starts the backward pass from the sum of all outputs, weighted or not: `grads` holds the gradients.
    pub fn start_backward(&mut self, backward: Backward) -> Result<(), String> {
        if self.bound == Bound::One
            && let Some(loss) = self.short_loss(backward)?
        {
            self.lines.push(format!("let grads = {loss}.backward()?;"));
            return Ok(());
        }
        let weighted = matches!(backward, Backward::Weighted | Backward::Twice);
        if weighted {
            let weights: Vec<String> = (0..7).map(|index| format!("{:?}", weight(index))).collect();
            self.lines.push(format!(
                "// Every element has its own weight.\nlet weighted_sum = |x: &Tensor| -> Result<Tensor> {{\n    \
                 let weights: Vec<f64> = (0..x.elem_count()).map(|i| [{}][i % 7]).collect();\n    let weights = \
                 Tensor::from_vec(weights, x.shape(), x.device())?.to_dtype(x.dtype())?;\n    \
                 (x * weights)?.sum_all()\n}};",
                weights.join(", ")
            ));
        }
        let sum = |name: &str| if weighted { format!("weighted_sum(&{name})?") } else { format!("{name}.sum_all()?") };
        if self.bound == Bound::Several {
            self.lines.push(format!(
                "let mut total = {};\nfor output in &outputs[1..] {{\n    total = (total + {})?;\n}}",
                sum("outputs[0]"),
                sum("output")
            ));
        } else {
            self.lines.push(format!("let total = {};", sum("output")));
        }
        self.lines.push("let grads = total.backward()?;".to_string());
        Ok(())
    }

    /// The loss as one expression, if the output is small enough to list its weights. They go to a line of their own.
    fn short_loss(&mut self, backward: Backward) -> Result<Option<String>, String> {
        const LISTED: usize = 8;
        let size = self.output.as_ref().and_then(|(_, shape)| product(shape));
        match (backward, &self.output, size) {
            // The weight of the first element is 1.
            (Backward::Sum | Backward::Weighted, _, Some(1)) => Ok(Some("output".to_string())),
            (Backward::Sum, ..) => Ok(Some("output.sum_all()?".to_string())),
            (Backward::Weighted, Some((dtype, shape)), Some(size @ 2..=LISTED)) => {
                let values = (0..size).map(|index| Value::of(*dtype, weight(index))).collect();
                let weights = Tensor::new(*dtype, shape.clone(), values);
                let made = rust::buffer("weights", &weights, self.host, &mut self.lines)?;
                self.lines.push(format!("let weights = {made};"));
                Ok(Some("(&output * weights)?.sum_all()?".to_string()))
            }
            _ => Ok(None),
        }
    }

    /// All lines, after the one that opens the device, indented by four spaces.
    pub fn indented(&self) -> String {
        let opened = match self.device {
            Device::Cpu => "Device::Cpu".to_string(),
            Device::Cuda(ordinal) | Device::Sim(ordinal) => format!("Device::new_cuda({ordinal})?"),
        };
        format!("    let device = {opened};\n{}", self.text())
    }

    /// All lines, for a function that takes the device by reference.
    pub fn borrowing(&self) -> String {
        let mut text = String::new();
        let mut parts = self.text();
        while let Some((before, after)) = parts.split_once("&device") {
            let is_longer = after.starts_with(|next: char| next.is_alphanumeric() || next == '_');
            text += &format!("{before}{}", if is_longer { "&device" } else { "device" });
            parts = after.to_string();
        }
        text + &parts
    }

    fn text(&self) -> String {
        let indented = |line: &str| if line.is_empty() { "\n".to_string() } else { format!("    {line}\n") };
        self.lines.iter().flat_map(|lines| lines.lines()).map(indented).collect()
    }

    /// The items of candle that the lines need, and `also`.
    pub fn imports(&self, also: &[&'static str]) -> Imports {
        Imports::of(&self.lines.join("\n"), also)
    }
}
