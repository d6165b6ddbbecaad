//! `snuffer ops`: lists the ops, explains one, and measures which dtypes work.

mod describe;
mod table;

pub use describe::{example, explained};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{CandleArg, Common, Format, FormatArg, UsageError, present};
use crate::console;
use crate::exit_code::Exit;
use crate::matrix;
use crate::ops::{self, Op};

/// Arguments of `snuffer ops`.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub struct Args {
    /// Only ops whose name contains this. A whole name, or one that only one op has, explains
    /// that op.
    name: Option<String>,
    /// Print a case of the op, to edit and replay.
    #[arg(long, requires = "name", conflicts_with = "matrix")]
    example: bool,
    /// Run valid cases of each op in each dtype, and show what candle does.
    #[arg(long)]
    matrix: bool,
    #[command(flatten)]
    format: FormatArg,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    candle: CandleArg,
}

/// An op in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listed {
    /// Its name.
    name: &'static str,
    /// Its tensors, and what each of them takes.
    inputs: BTreeMap<&'static str, String>,
    /// Its other arguments, and what each of them takes.
    params: BTreeMap<&'static str, String>,
    /// The inputs that can have a gradient.
    gradients: &'static [&'static str],
    /// The public functions of candle that it calls.
    covers: &'static [&'static str],
    /// The documentation or source that its contract is from.
    source: &'static str,
}

impl Listed {
    fn new(op: &Op) -> Self {
        Self {
            name: op.name,
            inputs: op.inputs.iter().map(|spec| (spec.name, spec.taken())).collect(),
            params: op.params.iter().map(|spec| (spec.name, spec.taken())).collect(),
            gradients: op.differentiable,
            covers: op.covers,
            source: op.promise,
        }
    }
}

/// The measured matrix.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Matrix {
    /// `snuffer` and candle.
    versions: String,
    /// At most this many cases of each op and dtype were run.
    cases: u64,
    /// One row per op and device.
    rows: Vec<matrix::Row>,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let ops = selected(args.name.as_deref().unwrap_or(""))?;
    if args.matrix {
        return measure(args, &ops);
    }
    match (args.format.format(), &ops[..]) {
        _ if args.example => print!("{}", describe::example_text(one(&ops)?)),
        (Format::Markdown, _) => print!("{}", table::markdown(&ops)),
        (Format::Json, _) => {
            for op in &ops {
                println!("{}", serde_json::to_string(&Listed::new(op))?);
            }
        }
        (Format::Text, [op]) => print!("{}", explained(op)),
        (Format::Text, _) => print!("{}", describe::listed(&ops)),
    }
    Ok(Exit::Clean)
}

/// The only one of `ops`.
fn one(ops: &[&'static Op]) -> Result<&'static Op, UsageError> {
    match ops {
        [op] => Ok(op),
        _ => {
            let names: Vec<&str> = ops.iter().map(|op| op.name).collect();
            Err(UsageError(format!("--example needs one op; this name matches {}", names.join(", "))))
        }
    }
}

/// The op of this name, or else all ops whose names contain it.
fn selected(name: &str) -> Result<Vec<&'static Op>, UsageError> {
    if let Some(op) = ops::find(name) {
        return Ok(vec![op]);
    }
    let ops: Vec<&'static Op> = ops::all().into_iter().filter(|op| op.name.contains(name)).collect();
    if ops.is_empty() {
        Err(ops::named(name).map(|_| ()).map_err(UsageError).expect_err("no op has this name"))
    } else {
        Ok(ops)
    }
}

fn measure(args: &Args, ops: &[&'static Op]) -> anyhow::Result<Exit> {
    let devices = args.common.devices()?;
    let spec = args.candle.apply(&devices, args.common.spec())?;
    let ops = present(ops.to_vec(), &[], spec.candle.as_deref())?;
    let bar = console::bar(ops.len());
    let rows = matrix::measure(&ops, &devices, &spec, &bar)?;
    drop(bar);
    if args.format.format() == Format::Json {
        let matrix = Matrix { versions: crate::settle::versions(spec.candle.as_deref()), cases: matrix::CASES, rows };
        println!("{}", serde_json::to_string(&matrix)?);
    } else {
        print!("{}", matrix::text(&rows));
    }
    Ok(Exit::Clean)
}
