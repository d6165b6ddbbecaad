//! A case as a program: the candle code that a person would write for the call, to run or to paste into an issue.

mod agreement;
mod literal;
mod source;

use std::collections::BTreeSet;

use crate::case::{Backward, Case, weight};
use crate::device::Device;
use crate::ops::{Op, sequence};
use crate::outcome::Outcome;
use crate::tensor::{DType, Tensor};

pub use agreement::agrees;

/// What a program says beside the call.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// Where it runs.
    pub device: Device,
    /// Comments at its top.
    pub comments: &'a [String],
    /// The dtype and rank of each output, where the call returns any: its values are printed in full.
    pub outputs: &'a [(DType, usize)],
}

/// The `main.rs` of `case`. An `Err` says why there is none: nobody writes ten thousand numbers.
pub fn program(op: &Op, case: &Case, about: &About) -> Result<String, String> {
    // As the worker does: of other dtypes there are no gradients.
    let backward = if about.outputs.iter().all(|(dtype, _)| dtype.is_float()) { case.backward } else { Backward::None };
    let whole = &Case { backward, ..case.clone() };
    let mut program = Program { body: Vec::new(), vars: Vec::new(), device: about.device, bound: Bound::Nothing };
    let steps = sequence::steps(case);
    if steps.is_empty() {
        program.call(op, case, whole, "")?;
    }
    for (number, (op, step)) in steps.iter().enumerate() {
        program.flow(op.support.of);
        program.call(op, step, whole, &format!("{}.", number + 1))?;
    }
    Ok(program.text(backward, about))
}

/// What of the outputs a program must know to print them: of what was returned, dtype and rank of each.
pub fn outputs(outcome: &Outcome) -> Vec<(DType, usize)> {
    let Outcome::Returned(returned) = outcome else { return Vec::new() };
    returned.outputs.iter().map(|output| (output.dtype, output.shape.len())).collect()
}

/// The call itself, a line or a few; of a sequence every step's.
pub fn call(op: &'static Op, case: &Case) -> String {
    let steps = sequence::steps(case);
    let calls = if steps.is_empty() { vec![(op, case.clone())] } else { steps };
    let lines = |(op, call): &(&'static Op, Case)| {
        source::rendered(op, call, Device::Cpu).map_or_else(|_| op.covers.join(", "), |lines| lines.join("\n"))
    };
    calls.iter().map(lines).collect::<Vec<_>>().join("\n")
}

/// Which candle a program is built with.
#[derive(Debug, Clone, Copy)]
pub enum Candle<'a> {
    /// A release.
    Release(&'a str),
    /// A checkout of its repository.
    Checkout(&'a str),
}

impl Candle<'_> {
    /// The one that this build of the suite tests.
    pub const TESTED: Self = Self::Release(crate::CANDLE);
}

/// The manifest of a program's crate, with CUDA where its device asks for it.
pub fn manifest(name: &str, program: &str, device: Device, candle: Candle) -> String {
    let cuda = if device == Device::Cpu { "" } else { ", features = [\"cuda\"]" };
    let mut text = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n[workspace]\n\n\
         [dependencies]\n"
    );
    for krate in ["candle-core", "candle-nn"] {
        text += &match candle {
            Candle::Release(version) => format!("{krate} = {{ version = \"={version}\"{cuda} }}\n"),
            Candle::Checkout(path) => format!("{krate} = {{ path = \"{path}/{krate}\"{cuda} }}\n"),
        };
    }
    for (krate, version) in [("half", "2"), ("float8", "0.7")] {
        if program.contains(&format!("{krate}::")) {
            text += &format!("{krate} = \"{version}\"\n");
        }
    }
    text
}

/// A program in the making.
struct Program {
    body: Vec<String>,
    /// The variables that gradients are asked for, and the name of the input that each is.
    vars: Vec<(String, String)>,
    device: Device,
    bound: Bound,
}

/// What the lines of a source bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// Nothing: they print what they make.
    Nothing,
    /// `output`.
    One,
    /// `outputs`.
    Several,
}

impl Program {
    /// Adds the inputs of `call` and the call; `prefix` is what its inputs are called by in `whole`.
    fn call(&mut self, op: &Op, call: &Case, whole: &Case, prefix: &str) -> Result<(), String> {
        for (name, data) in &call.inputs {
            let own = format!("{prefix}{name}");
            let has_gradient = data.dtype.is_float() && !whole.backward.is_none() && op.differentiates(whole, &own);
            self.input(name, &own, data, has_gradient)?;
        }
        let mut lines = source::rendered(op, call, self.device)?;
        let binds = |name: &str| {
            let forms = [format!("let {name} "), format!("let mut {name} ")];
            lines.iter().any(|line| forms.iter().any(|form| line.starts_with(form)))
        };
        self.bound = match lines.last() {
            _ if binds("outputs") => Bound::Several,
            Some(last) if last.starts_with("println!") => Bound::Nothing,
            _ => Bound::One,
        };
        // The expression at the end may go over several lines.
        let start = lines.iter().rposition(|line| !line.starts_with([' ', ')', '}']));
        if self.bound == Bound::One
            && !binds("output")
            && let (Some(start), Some(last)) = (start, lines.len().checked_sub(1))
        {
            lines[start].insert_str(0, "let output = ");
            lines[last].push(';');
        }
        self.body.extend(lines);
        Ok(())
    }

    /// Calls the first output of the call before this by this name.
    fn flow(&mut self, name: &str) {
        let output = self.body.iter_mut().rfind(|line| line.starts_with("let output = "));
        match (self.bound, output) {
            (Bound::One, Some(line)) => *line = line.replacen("output", name, 1),
            (Bound::Several, _) => self.body.push(format!("let {name} = outputs[0].clone();")),
            _ => {}
        }
    }

    fn input(&mut self, name: &str, own: &str, data: &Tensor, has_gradient: bool) -> Result<(), String> {
        let mut before = Vec::new();
        let buffer = literal::buffer(name, data, "&device", &mut before)?;
        self.body.append(&mut before);
        let view = literal::view(data);
        if has_gradient {
            let var = own.split_once('.').map_or(format!("{own}_var"), |(step, name)| format!("{name}_var{step}"));
            self.body.push(format!("let {var} = Var::from_tensor(&{buffer})?;"));
            let view = if view.is_empty() { ".clone()".to_string() } else { view };
            self.body.push(format!("let {name} = {var}.as_tensor(){view};"));
            self.vars.push((var, own.to_string()));
        } else {
            self.body.push(format!("let {name} = {buffer}{view};"));
        }
        Ok(())
    }

    fn text(mut self, backward: Backward, about: &About) -> String {
        let several = self.bound == Bound::Several;
        if about.outputs.is_empty() && self.device != Device::Cpu {
            // Printing would not show an error that is on its way: candle prints a tensor that it cannot read without values.
            self.body.push("device.synchronize()?;".to_string());
        }
        if self.bound != Bound::Nothing {
            self.print(several, about.outputs);
        }
        if !self.vars.is_empty() {
            self.backward(backward, several);
        }
        let body = self.body.join("\n");
        let mut names = vec!["Device", "Result", "Tensor"];
        names.extend(
            ["DType", "IndexOp", "Module", "ModuleT", "Var", "D"].into_iter().filter(|name| needs(&body, name)),
        );
        names.sort_unstable();
        let opened = match about.device {
            Device::Cpu => "Device::Cpu".to_string(),
            Device::Cuda(ordinal) | Device::Sim(ordinal) => format!("Device::new_cuda({ordinal})?"),
        };
        let mut text: String = about.comments.iter().map(|line| ["// ", line, "\n"].concat()).collect();
        let users = [("Optimizer", "optimizer."), ("RNN", "LSTM"), ("RNN", "GRU")];
        let traits: BTreeSet<&str> =
            users.iter().filter(|(_, user)| body.contains(user)).map(|(name, _)| *name).collect();
        for (krate, names) in [("candle_core", names), ("candle_nn", traits.into_iter().collect())] {
            text += &match names.as_slice() {
                [] => String::new(),
                [name] => format!("use {krate}::{name};\n"),
                names => format!("use {krate}::{{{}}};\n", names.join(", ")),
            };
        }
        text += &format!("\nfn main() -> Result<()> {{\n    let device = {opened};\n");
        for line in body.lines() {
            text += &if line.is_empty() { "\n".to_string() } else { format!("    {line}\n") };
        }
        text + "    Ok(())\n}\n"
    }

    /// Prints the outputs' values, exactly where their dtype is known.
    fn print(&mut self, several: bool, outputs: &[(DType, usize)]) {
        let shown = |name: &str, of: Option<&(DType, usize)>| match of {
            Some(&(dtype, rank)) => format!("println!(\"{{:?}}\", {name}{});", read(dtype, rank)),
            None => format!("println!(\"{{{name}}}\");"),
        };
        if !several {
            self.body.push(shown("output", outputs.first()));
            return;
        }
        match outputs.first().filter(|first| outputs.iter().all(|other| other == *first)) {
            None if !outputs.is_empty() => {
                let each = |(place, of)| shown(&format!("outputs[{place}]"), Some(of));
                self.body.extend(outputs.iter().enumerate().map(each));
            }
            alike => self.body.push(format!("for output in &outputs {{\n    {}\n}}", shown("output", alike))),
        }
    }

    fn backward(&mut self, backward: Backward, several: bool) {
        let weighted = matches!(backward, Backward::Weighted | Backward::Twice);
        if weighted {
            let weights: Vec<String> = (0..7).map(|index| format!("{:?}", weight(index))).collect();
            self.body.push(format!(
                "// Every element has a share of its own.\nlet weighted_sum = |x: &Tensor| -> Result<Tensor> {{\n    \
                 let weights: Vec<f64> = (0..x.elem_count()).map(|i| [{}][i % 7]).collect();\n    let weights = \
                 Tensor::from_vec(weights, x.shape(), x.device())?.to_dtype(x.dtype())?;\n    \
                 (x * weights)?.sum_all()\n}};",
                weights.join(", ")
            ));
        }
        let sum = |name: &str| if weighted { format!("weighted_sum(&{name})?") } else { format!("{name}.sum_all()?") };
        if several {
            self.body.push(format!(
                "let mut total = {};\nfor output in &outputs[1..] {{\n    total = (total + {})?;\n}}",
                sum("outputs[0]"),
                sum("output")
            ));
        } else {
            self.body.push(format!("let total = {};", sum("output")));
        }
        self.body.push("let grads = total.backward()?;".to_string());
        let print = |of: &str| -> Vec<String> {
            let matched = |(var, name): &(String, String)| {
                format!(
                    "match grads.get(&{var}) {{\n    Some(grad) => println!(\"{of} of {name}:\\n{{grad}}\"),\n    \
                     None => println!(\"no {of} of {name}\"),\n}}"
                )
            };
            self.vars.iter().map(matched).collect()
        };
        let (first, second) = (print("gradient"), print("second derivative"));
        self.body.extend(first);
        if backward == Backward::Twice {
            let grads: Vec<String> = self.vars.iter().map(|(var, _)| format!("grads.get(&{var})")).collect();
            let first = format!("{}{}", grads.join(".or("), ")".repeat(grads.len() - 1));
            self.body
                .push(format!("if let Some(first) = {first} {{\n    let grads = weighted_sum(first)?.backward()?;"));
            self.body.push(format!("    {}\n}}", second.join("\n").replace('\n', "\n    ")));
        }
    }
}

/// What reads a tensor of this dtype and rank as numbers.
fn read(dtype: DType, rank: usize) -> String {
    let (cast, typed) = match dtype {
        DType::F16 | DType::Bf16 | DType::F8e4m3 => (".to_device(&Device::Cpu)?.to_dtype(DType::F32)?", "f32"),
        other => ("", literal::rust(other)),
    };
    match rank {
        0 => format!("{cast}.to_scalar::<{typed}>()?"),
        1..=3 => format!("{cast}.to_vec{rank}::<{typed}>()?"),
        _ => format!("{cast}.flatten_all()?.to_vec1::<{typed}>()?"),
    }
}

/// Whether `body` names this item of candle-core; traits by their methods.
fn needs(body: &str, name: &str) -> bool {
    match name {
        "IndexOp" => body.contains(".i("),
        "Module" => body.contains(".forward("),
        "ModuleT" => body.contains(".forward_t("),
        "D" => body.contains("(D::"),
        name => body.contains(&format!("{name}::")),
    }
}
