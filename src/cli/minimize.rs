//! `snuffer minimize`: simplifies a failing case.

use std::path::PathBuf;
use std::time::Duration;

use super::check_lacking;
use super::{CandleArg, Common, KernelsArg, KnownArg, StoreArg, UsageError, cases, duration};
use crate::console::Working;
use crate::exec::{Deadline, Executor};
use crate::exit_code::Exit;
use crate::oracle::{Evidence, Signature, judge};
use crate::report::Answer;
use crate::settle::{PassCounts, Settings, settle};

/// Arguments of `snuffer minimize`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file with a case, finding or regression, or the name of a finding; `-` reads
    /// standard input.
    case: PathBuf,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    candle: CandleArg,
    #[command(flatten)]
    kernels: KernelsArg,
    /// Time limit.
    #[arg(long, default_value = "60s", value_parser = duration)]
    time: Duration,
    /// Say on the error stream what each pass of the minimizer did.
    #[arg(long)]
    verbose: bool,
}

pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    let (op, case, own) = cases::failing(&args.case, store)?;
    let devices = args.common.devices()?;
    let spec = args.kernels.apply(&devices, args.candle.apply(&devices, args.common.spec())?)?;
    check_lacking(&case, &spec)?;
    let working = Working::on("minimizing");
    let mut executor = Executor::start(&devices, &spec)?;
    let observations = executor.observe(&case, Deadline::Full)?;
    let evidence = Evidence::new(op, &case, &observations);
    let verdict = judge(&evidence);
    let signatures = verdict.signatures(op.name);
    let wanted = |signature: &&Signature| own.as_ref() == Some(*signature);
    let Some(signature) = signatures.iter().find(wanted).or(signatures.first()) else {
        let answer = Answer::new(&evidence, &verdict, &KnownArg::default().failures()?);
        let file = args.case.display();
        let message =
            format!("candle does as it should with {file}, so there is nothing to minimize: {}", answer.sentence);
        return Err(UsageError(message).into());
    };
    let settings = Settings { time: args.time, ..Settings::default() };
    let settled = settle(&mut executor, case, signature, settings)?;
    drop(working);
    if args.verbose {
        for PassCounts { name, tried, accepted } in settled.passes {
            eprintln!("{name:<15} {tried:>6} tried {accepted:>4} accepted");
        }
    }
    let Some(finding) = settled.finding else {
        anyhow::bail!("{signature} is not reproduced in a new process");
    };
    print!("# {}\n# {}\n{}", finding.signature, finding.violation.detail, finding.case.to_text());
    Ok(Exit::Findings)
}
