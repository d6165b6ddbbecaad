//! docs/ops.md lists what every op declares.

use std::fmt::Write;

use snuffer::case::{InputSpec, ParamSpec};
use snuffer::ops::{self, Op};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/ops.md");

#[test]
fn the_document_of_ops_is_up_to_date() {
    let text = document();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(DOCUMENT, &text).expect("docs/ops.md is written");
    }
    assert!(std::fs::read_to_string(DOCUMENT).expect("docs/ops.md") == text, "docs/ops.md is old: see its first lines");
}

fn document() -> String {
    let mut text = String::from(
        "# Ops: inputs and params\n\nMade from the declarations in `src/ops` by `UPDATE_DOCS=1 cargo test --test it catalog`. \
         `snuffer ops NAME`\nadds the call, the dtypes and the contract, and `snuffer ops NAME --example` prints a case.\n",
    );
    let mut family = "";
    for op in ops::ALL {
        if let Some((own, _)) = op.name.split_once('.').filter(|(own, _)| *own != family) {
            family = own;
            write!(text, "\n## {family}\n\n| op | inputs | params |\n|---|---|---|\n").expect("text");
        }
        if op.name.contains('.') {
            text += &row(op);
        }
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
