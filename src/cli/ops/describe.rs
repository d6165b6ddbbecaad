//! An op explained: its call, inputs, params, dtypes and contract, and a case to edit.

use std::collections::BTreeSet;

use crate::case::{Case, InputSpec, ParamSpec};
use crate::console;
use crate::generate::Mode;
use crate::hunt::Sample;
use crate::ops::{Contract, Op, why};
use crate::program::{call, torch_call};
use crate::tensor::DType;

/// How many cases of each mode show what the contract says.
const DRAWN: u64 = 2000;
/// The columns behind the names of parts, in 80.
const WIDTH: usize = 65;
/// The columns behind the names of ops, in 80.
const LINE: usize = 78;
/// About as many elements as a case has that one likes to edit.
const ELEMENTS: usize = 12;

/// The ops, each with its inputs and then its params, and how many there are.
pub fn listed(ops: &[&'static Op]) -> String {
    let width = ops.iter().map(|op| op.name.len()).max().unwrap_or_default();
    let line = |op: &&Op| {
        let (inputs, params) = (op.inputs.iter().map(|spec| spec.name), op.params.iter().map(|spec| spec.name));
        let (inputs, params) = (inputs.collect::<Vec<_>>().join(", "), params.collect::<Vec<_>>().join(", "));
        let both = if params.is_empty() { inputs } else { format!("{inputs}; {params}") };
        let indent = format!("\n{:width$}  ", "");
        format!("{:<width$}  {}\n", op.name, console::wrapped(&both, LINE - width).join(&indent)).trim_end().to_string()
            + "\n"
    };
    let lines: String = ops.iter().map(line).collect();
    let head = format!("{:<width$}  inputs; params\n", "op");
    format!("{head}{lines}\n{} ops; `snuffer ops NAME` explains one\n", ops.len())
}

/// All that there is to know about `op`.
pub fn explained(op: &'static Op) -> String {
    let example = example(op);
    let mut text = format!("{}\n", op.name);
    let mut part = |name: &str, lines: Vec<String>| {
        for (number, line) in lines.iter().flat_map(|line| line.lines()).enumerate() {
            let name = if number == 0 { name } else { "" };
            text += format!("    {name:<10} {line}").trim_end();
            text += "\n";
        }
    };
    part("call", vec![call(op, &example)]);
    part("PyTorch", torch_call(op, &example).unwrap_or_else(|why| wrapped(&format!("({why})"), "")));
    part("inputs", op.inputs.iter().flat_map(input).collect());
    part("params", op.params.iter().flat_map(param).collect());
    let dtypes = |of: &[DType]| of.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", ");
    if !op.support.of.is_empty() {
        let (cpu, cuda) = (dtypes(op.support.cpu), dtypes(op.support.cuda));
        part(
            "dtypes",
            vec![format!("of {}, as candle lists them", op.support.of), format!("cpu: {cpu}"), format!("CUDA: {cuda}")],
        );
    }
    part(
        "gradients",
        vec![if op.differentiable.is_empty() { "none".to_string() } else { op.differentiable.join(", ") }],
    );
    part("contract", contract(op).iter().flat_map(|line| wrapped(line, "  ")).collect());
    part("covers", wrapped(&op.covers.join(", "), ""));
    part("source", wrapped(op.promise, ""));
    text + &format!("\nA case to edit: snuffer ops {} --example > case.toml\n", op.name)
}

fn input(spec: &InputSpec) -> Vec<String> {
    wrapped(&format!("{}  {}", spec.name, spec.taken()), "  ")
}

fn param(spec: &ParamSpec) -> Vec<String> {
    wrapped(&format!("{}  {}. {}", spec.name, spec.taken(), spec.about), "  ")
}

/// `text` in lines that fit behind the name of a part, all but the first behind `indent`.
fn wrapped(text: &str, indent: &str) -> Vec<String> {
    let lines = console::wrapped(text, WIDTH - indent.len()).into_iter().enumerate();
    lines.map(|(number, line)| if number == 0 { line } else { format!("{indent}{line}") }).collect()
}

/// What drawn cases show of the contract, which is code.
fn contract(op: &'static Op) -> Vec<String> {
    let (mut refused, mut refusable, mut unspecified) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for mode in Mode::ALL {
        for index in 0..DRAWN {
            match op.contract(&Sample::nth(&[op], &[mode], 0, index).drawn.case) {
                Contract::Rejects(rule) => refused.insert(rule.wording),
                Contract::Unspecified(why) => unspecified.insert(why),
                // A refusal because of the layout is a limitation, and no right of candle's.
                Contract::Accepts { refusal: Some(why::CONTIGUOUS) | None, .. } => false,
                Contract::Accepts { refusal: Some(why), .. } => refusable.insert(why),
            };
        }
    }
    let list = |reasons: BTreeSet<&str>| reasons.into_iter().collect::<Vec<_>>().join("; ");
    let mut lines = vec!["A call returns the right values, unless one of these applies.".to_string()];
    for (what, reasons) in [
        ("It must be an Err", refused),
        ("It may be an Err", refusable),
        ("The result is not specified, but all devices must agree on Ok or Err", unspecified),
    ] {
        if !reasons.is_empty() {
            lines.push(format!("{what}: {}.", list(reasons)));
        }
    }
    lines
}

/// A valid case of `op` that is easy to edit: f32, contiguous, forward, with about a dozen elements.
pub fn example(op: &'static Op) -> Case {
    let strange = |case: &Case| {
        let elements: usize = case.inputs.values().filter_map(crate::tensor::Tensor::elements).sum();
        let accepted = matches!(op.contract(case), Contract::Accepts { refusal: None, .. });
        // Ids of 8 bits end at 255, which is a special case.
        let small_ids = case.inputs.values().any(|tensor| tensor.dtype == DType::U8);
        let f32 = op.dtype(case).is_none_or(|dtype| dtype == DType::F32);
        (!accepted, !f32, small_ids, !case.is_contiguous(), !case.backward.is_none(), elements.abs_diff(ELEMENTS))
    };
    let drawn = (0..DRAWN).map(|index| Sample::nth(&[op], &[Mode::Valid], 0, index).drawn.case);
    drawn.min_by_key(strange).expect("cases are drawn")
}

/// The text of [`example`], with what to do with it.
pub fn example_text(op: &'static Op) -> String {
    format!("# Run it: snuffer replay FILE (or `-` for standard input).\n{}", example(op).to_text())
}
