//! A case as the `main.rs` of a program that prints the results.

use super::ProgramOptions;
use super::body::{Body, Bound};
use super::rust;
use crate::case::Backward;
use crate::device::Device;
use crate::tensor::DType;

/// The program that prints the outputs of `body`, and its gradients.
pub fn main_program(body: Body, backward: Backward, options: &ProgramOptions) -> Result<String, String> {
    let mut main = Main(body);
    if options.outputs.is_empty() && options.device != Device::Cpu {
        // Printing would hide a pending error: candle prints a tensor that it cannot read without its values.
        main.push("device.synchronize()?;");
    }
    if main.0.bound != Bound::Nothing {
        main.outputs(options.outputs);
    }
    if !main.0.vars.is_empty() {
        main.gradients(backward)?;
    }
    let comments: String = options.comments.iter().map(|line| ["// ", line, "\n"].concat()).collect();
    let imports = main.0.imports(&["Device", "Result"]);
    let lines = main.0.indented();
    let lines = if options.device == Device::Cpu { rust::without_moves(&lines) } else { lines };
    Ok(format!("{comments}{imports}\nfn main() -> Result<()> {{\n{lines}    Ok(())\n}}\n"))
}

struct Main(Body);

impl Main {
    fn push(&mut self, line: impl Into<String>) {
        self.0.lines.push(line.into());
    }

    /// Prints the outputs' values, in full if their dtype is known.
    fn outputs(&mut self, outputs: &[(DType, usize)]) {
        let shown = |name: &str, of: Option<&(DType, usize)>| match of {
            Some(&(dtype, rank)) => format!("println!(\"{{:?}}\", {name}{});", read(dtype, rank)),
            None => format!("println!(\"{{{name}}}\");"),
        };
        if self.0.bound == Bound::Sizes {
            return self.push("for output in &outputs {\n    println!(\"{output:?}\");\n}");
        }
        if self.0.bound != Bound::Several {
            let promised = self.0.output.as_ref().map(|(dtype, _)| *dtype);
            if outputs.first().is_some_and(|(dtype, _)| promised.is_some_and(|promised| promised != *dtype)) {
                // Another dtype may have the same numbers.
                self.push("println!(\"{:?}\", output.dtype());");
            }
            return self.push(shown("output", outputs.first()));
        }
        match outputs.first().filter(|first| outputs.iter().all(|other| other == *first)) {
            None if !outputs.is_empty() => {
                let each = |(place, of)| shown(&format!("outputs[{place}]"), Some(of));
                self.0.lines.extend(outputs.iter().enumerate().map(each));
            }
            alike => self.push(format!("for output in &outputs {{\n    {}\n}}", shown("output", alike))),
        }
    }

    fn gradients(&mut self, backward: Backward) -> Result<(), String> {
        self.0.start_backward(backward)?;
        let print = |of: &str| -> Vec<String> {
            let matched = |(var, name): &(String, String)| {
                format!(
                    "match grads.get(&{var}) {{\n    Some(grad) => println!(\"{of} of {name}:\\n{{grad}}\"),\n    \
                     None => println!(\"no {of} of {name}\"),\n}}"
                )
            };
            self.0.vars.iter().map(matched).collect()
        };
        let (first, second) = (print("gradient"), print("second derivative"));
        self.0.lines.extend(first);
        if backward == Backward::Twice {
            let grads: Vec<String> = self.0.vars.iter().map(|(var, _)| format!("grads.get(&{var})")).collect();
            let first = format!("{}{}", grads.join(".or("), ")".repeat(grads.len() - 1));
            self.push(format!("if let Some(first) = {first} {{\n    let grads = weighted_sum(first)?.backward()?;"));
            self.push(format!("    {}\n}}", second.join("\n").replace('\n', "\n    ")));
        }
        Ok(())
    }
}

/// The methods that read a tensor of this dtype and rank as numbers.
fn read(dtype: DType, rank: usize) -> String {
    let (cast, typed) = rust::readable(dtype);
    match rank {
        0 => format!("{cast}.to_scalar::<{typed}>()?"),
        1..=3 => format!("{cast}.to_vec{rank}::<{typed}>()?"),
        _ => format!("{cast}.flatten_all()?.to_vec1::<{typed}>()?"),
    }
}
