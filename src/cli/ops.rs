//! `snuffer ops`: lists the ops, and measures which dtypes work.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Common, UsageError};
use crate::console;
use crate::exit_code::Exit;
use crate::generate::Mode;
use crate::hunt::Sample;
use crate::matrix;
use crate::ops::{self, Op};
use crate::program::call;

/// Arguments of `snuffer ops`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only ops whose name contains this.
    name: Option<String>,
    /// Run valid cases of each op in each dtype, and show what candle does.
    #[arg(long)]
    matrix: bool,
    /// Print the matrix as JSON, with the number of cases for each outcome.
    #[arg(long, requires = "matrix")]
    json: bool,
    #[command(flatten)]
    common: Common,
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
    let wanted = args.name.as_deref().unwrap_or("");
    let ops: Vec<&'static Op> = ops::ALL.iter().copied().filter(|op| op.name.contains(wanted)).collect();
    if ops.is_empty() {
        return Err(UsageError(format!("no op has `{wanted}` in its name; `snuffer ops` lists them")).into());
    }
    if args.matrix {
        return measure(args, &ops);
    }
    for op in ops {
        let gradients = if op.differentiable.is_empty() { "none".to_string() } else { op.differentiable.join(", ") };
        // The call of one of its cases: the source is a template.
        let call = call(op, &Sample::nth(&[op], &[Mode::Valid], 1, 0).drawn.case).replace('\n', "\n               ");
        println!(
            "{}\n    call       {call}\n    covers     {}\n    gradients  {gradients}\n    promise    {}",
            op.name,
            op.covers.join(", "),
            op.promise
        );
    }
    Ok(Exit::Clean)
}

fn measure(args: &Args, ops: &[&'static Op]) -> anyhow::Result<Exit> {
    let bar = console::bar(ops.len());
    let rows = matrix::measure(ops, &args.common.devices(), args.common.limits(), &bar)?;
    drop(bar);
    if args.json {
        let matrix = Matrix { versions: crate::settle::versions(), cases: matrix::CASES, rows };
        println!("{}", serde_json::to_string(&matrix)?);
    } else {
        print!("{}", matrix::text(&rows));
    }
    Ok(Exit::Clean)
}
