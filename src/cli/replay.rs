//! `snuffer replay`.

use std::path::PathBuf;

use super::{Common, cases};
use crate::campaign;
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
    /// Name the call that is at fault, and whether forward or backward: runs ever longer parts of the case.
    #[arg(long)]
    blame: bool,
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
    if args.blame {
        println!(
            "blame     {}",
            campaign::blame(&mut executor, &case)?.map_or("no call".to_string(), |b| b.to_string())
        );
    }
    Ok(if matches!(verdict, Verdict::Fail(_)) { Exit::Findings } else { Exit::Clean })
}
