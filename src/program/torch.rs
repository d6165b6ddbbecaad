//! The same call in PyTorch, which tests compare with the reference.

use std::collections::BTreeMap;

use super::{python, templates};
use crate::case::{Backward, Case, Times, weight};
use crate::ops::sequence::{self, Step};
use crate::ops::{Contract, Op};
use crate::tensor::{DType, Tensor};

/// The script of `case`. An `Err` says why there is none.
pub fn torch(op: &Op, case: &Case) -> Result<String, String> {
    // Other dtypes have no gradients.
    let backward = match op.contract(case) {
        Contract::Accepts { outputs, .. } if !outputs.iter().all(|(dtype, _)| dtype.is_float()) => Backward::None,
        _ => case.backward,
    };
    let whole = &Case { backward, ..case.clone() };
    let mut script = Script { body: Vec::new(), leaves: Vec::new(), several: false };
    let steps = sequence::steps(case);
    if steps.is_empty() {
        script.call((op, case, case), whole, "")?;
    }
    let whole_calls = sequence::whole_calls(case);
    for (number, (Step { op, call, flowing, times, .. }, whole_call)) in steps.iter().zip(&whole_calls).enumerate() {
        if let Some(name) = flowing {
            script.body.push(format!("{name} = {}", if script.several { "outputs[0]" } else { "output" }));
        }
        let start = script.call((op, call, whole_call), whole, &format!("{}.", number + 1))?;
        if let Some(name) = flowing.filter(|_| *times > Times::default()) {
            script.again(start, name, *times);
        }
    }
    let unsigned = steps.iter().map(|step| &step.call).chain([case]).any(holds_u32);
    Ok(script.text(backward, unsigned))
}

/// Whether `case` has a tensor of `u32`, or makes one.
fn holds_u32(case: &Case) -> bool {
    let named = ["dtype", "to"].iter().any(|param| case.text(param) == DType::U32.name());
    named || case.inputs.values().any(|data| data.dtype == DType::U32)
}

/// A script under construction.
struct Script {
    body: Vec<String>,
    /// The leaf tensors that need a gradient, each with the name of its input.
    leaves: Vec<(String, String)>,
    /// Whether there is a list of `outputs` instead of one `output`.
    several: bool,
}

impl Script {
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
            let made = python::buffer(owner, &buffer.whole, &mut self.body)?;
            self.body.push(format!("{owner}_buffer = {made}"));
            let part = |(name, start, length): &(String, usize, usize)| {
                let part = python::part(&call.inputs[name], *start, *length, &buffer.whole);
                (name.clone(), format!("{owner}_buffer{part}"))
            };
            shared.extend(buffer.parts.iter().map(part));
        }
        for (name, data) in op.in_order(call) {
            let own = format!("{prefix}{name}");
            match shared.get(name) {
                Some(part) => self.body.push(format!("{name} = {part}{}", python::view(data))),
                None => self.input(name, &own, data, op.has_gradient(whole, &own))?,
            }
        }
        let start = self.body.len();
        let mut lines = templates::torch_call(op, whole_call)?;
        self.several = lines.iter().any(|line| line.starts_with("outputs = "));
        if let Some(last) = lines.last_mut().filter(|last| !self.several && !last.starts_with("output")) {
            last.insert_str(0, "output = ");
        } else if !self.several {
            // `output` is bound first and written to afterwards.
            lines.retain(|line| line != "output");
        }
        self.body.extend(lines);
        Ok(start)
    }

    /// Puts the call of a step, which begins with the line `start`, into a loop, each time on its own output.
    fn again(&mut self, start: usize, name: &str, times: Times) {
        let call = self.body.split_off(start);
        self.body.push(format!("for _ in range({}):", times.get()));
        self.body.extend(call.iter().flat_map(|lines| lines.lines()).map(|line| format!("    {line}")));
        self.body.push(format!("    {name} = {}", if self.several { "outputs[0]" } else { "output" }));
    }

    fn input(&mut self, name: &str, own: &str, data: &Tensor, has_gradient: bool) -> Result<(), String> {
        let buffer = python::buffer(name, data, &mut self.body)?;
        let view = python::view(data);
        if !has_gradient {
            self.body.push(format!("{name} = {buffer}{view}"));
            return Ok(());
        }
        let leaf = match own.split_once('.') {
            Some((step, name)) => format!("{name}_leaf{step}"),
            None if view.is_empty() => name.to_string(),
            None => format!("{name}_leaf"),
        };
        self.body.push(format!("{leaf} = {buffer}.requires_grad_()"));
        if leaf != name {
            self.body.push(format!("{name} = {leaf}{view}"));
        }
        self.leaves.push((leaf, own.to_string()));
        Ok(())
    }

    fn text(mut self, backward: Backward, unsigned: bool) -> String {
        let print = if self.several { "for output in outputs:\n    print(output)" } else { "print(output)" };
        self.body.push(print.to_string());
        if !self.leaves.is_empty() {
            self.backward(backward);
        }
        let body = self.body.join("\n");
        let functional = if body.contains("F.") { "import torch.nn.functional as F\n" } else { "" };
        let note =
            if unsigned { "# int64 stands for candle's u32: PyTorch has few operations on uint32.\n" } else { "" };
        format!("{note}import torch\n{functional}\n{body}\n")
    }

    fn backward(&mut self, backward: Backward) {
        let weighted = matches!(backward, Backward::Weighted | Backward::Twice);
        if weighted {
            let weights: Vec<String> = (0..7).map(|index| format!("{:?}", weight(index))).collect();
            self.body.push(format!(
                "\n# Every element has its own weight.\ndef weighted_sum(x):\n    weights = torch.tensor([{}], \
                 dtype=x.dtype)\n    weights = weights.repeat(x.numel() // 7 + 1)[:x.numel()]\n    \
                 return (x * weights.reshape(x.shape)).sum()\n",
                weights.join(", ")
            ));
        }
        let sum = if weighted { "weighted_sum(output)" } else { "output.sum()" };
        let twice = backward == Backward::Twice;
        let graph = if twice { "create_graph=True" } else { "" };
        self.body.push(if self.several {
            format!("sum({sum} for output in outputs).backward({graph})")
        } else {
            format!("{sum}.backward({graph})")
        });
        let print = |what: &str, name: &str, grad: &str| format!("print(\"{what} of {name}:\", {grad}, sep=\"\\n\")");
        self.body.extend(self.leaves.iter().map(|(leaf, name)| print("gradient", name, &format!("{leaf}.grad"))));
        if twice {
            let names: Vec<&str> = self.leaves.iter().map(|(leaf, _)| leaf.as_str()).collect();
            let first = names[0];
            self.body.push(format!(
                "if {first}.grad.requires_grad:\n    second = torch.autograd.grad(weighted_sum({first}.grad), [{}], \
                 allow_unused=True)",
                names.join(", ")
            ));
            let second = |(place, (_, name)): (usize, &(String, String))| {
                format!("    {}", print("second derivative", name, &format!("second[{place}]")))
            };
            self.body.extend(self.leaves.iter().enumerate().map(second));
        }
    }
}
