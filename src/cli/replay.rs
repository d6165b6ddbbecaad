//! `snuffer replay`.

use std::path::PathBuf;

use super::{Common, cases};
use crate::exec::{Build, Executor};
use crate::exit_code::Exit;
use crate::oracle::{Evidence, Verdict, judge};
use crate::report;

/// Arguments of `snuffer replay`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A case, finding or regression; `-` reads standard input.
    path: PathBuf,
    #[command(flatten)]
    common: Common,
    /// Run on the build without debug assertions and overflow checks.
    #[arg(long)]
    unchecked: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let (op, case) = cases::read(&args.path)?;
    let build = if args.unchecked { Build::Unchecked } else { Build::Checked };
    let mut executor = Executor::start(&args.common.devices(), build, args.common.limits())?;
    let observations = executor.observe(&case)?;
    let evidence = Evidence::new(op, &case, &observations);
    let verdict = judge(&evidence);
    print!("{}", report::text(&evidence, &verdict));
    Ok(if matches!(verdict, Verdict::Fail(_)) { Exit::Findings } else { Exit::Clean })
}
