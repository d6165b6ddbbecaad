//! The catalog as a page: what every op declares of its inputs and params.

use std::fmt::Write;

use crate::case::{InputSpec, ParamSpec};
use crate::ops::Op;

/// A table for each family, with a row for each op. The canary has no family: no hunt draws it.
pub fn markdown(ops: &[&'static Op]) -> String {
    let mut text = String::from(
        "# Ops: inputs and params\n\n`snuffer ops NAME` adds the call, the dtypes and the contract, and `snuffer ops NAME --example` prints a case.\n",
    );
    let mut last = "";
    for op in ops {
        let Some((family, _)) = op.name.split_once('.') else { continue };
        if family != last {
            let _ = write!(text, "\n## {family}\n\n| op | inputs | params |\n|---|---|---|\n");
            last = family;
        }
        text += &row(op);
    }
    text
}

fn row(op: &Op) -> String {
    let inputs: Vec<String> = op.inputs.iter().map(input).collect();
    let params: Vec<String> = op.params.iter().map(param).collect();
    format!("| `{}` | {} | {} |\n", op.name, inputs.join("<br>"), params.join("<br>"))
}

fn input(spec: &InputSpec) -> String {
    format!("`{}` {}", spec.name, spec.taken())
}

fn param(spec: &ParamSpec) -> String {
    format!("`{}` {}: {}", spec.name, spec.taken(), spec.about)
}
