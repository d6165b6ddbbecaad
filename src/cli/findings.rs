//! `snuffer findings`.

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::{StoreArg, UsageError, known};
use crate::exit_code::Exit;
use crate::findings::{Finding, Store, write_atomically};
use crate::ops;
use crate::oracle::{Evidence, judge};
use crate::regression::{Regression, Status};
use crate::report;

/// Arguments of `snuffer findings`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    store: StoreArg,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// One line per finding.
    List,
    /// Everything that is known of one finding.
    Show {
        /// Its name in the list.
        name: String,
    },
    /// Which issues of a list the findings show.
    Known {
        /// The list.
        #[arg(long, default_value = "docs/known-issues.toml")]
        list: PathBuf,
    },
    /// Keep a finding for good: write it as a regression that the test suite replays.
    Promote {
        /// Its name in the list.
        name: String,
        /// What it is about, in a sentence.
        #[arg(long)]
        title: Option<String>,
        /// The upstream issue or pull request.
        #[arg(long)]
        upstream: Option<String>,
        /// Where regressions are kept.
        #[arg(long, default_value = "corpora/regressions")]
        to: PathBuf,
    },
}

pub fn run(args: Args) -> anyhow::Result<Exit> {
    let store = Store::open(&args.store.store)?;
    match args.command {
        Command::List => list(&store),
        Command::Show { name } => show(&store.get(&name)?),
        Command::Known { list } => known::run(&store, &list),
        Command::Promote { name, title, upstream, to } => promote(&name, &store.get(&name)?, title, upstream, &to),
    }
}

fn list(store: &Store) -> anyhow::Result<Exit> {
    let mut exit = Exit::Clean;
    for (name, finding) in store.all()? {
        match finding {
            Ok(finding) => {
                exit = if exit == Exit::Clean { Exit::Findings } else { exit };
                println!("{name}\n    {}", finding.violation.detail);
            }
            Err(error) => {
                exit = Exit::Harness;
                eprintln!("{name}\n    {error:#}");
            }
        }
    }
    Ok(exit)
}

fn show(finding: &Finding) -> anyhow::Result<Exit> {
    let Some(op) = ops::find(&finding.case.op) else {
        return Err(UsageError(format!("this build has no op `{}`", finding.case.op)).into());
    };
    let evidence = Evidence::new(op, &finding.case, &finding.observations);
    print!("{}", report::text(&evidence, &judge(&evidence)));
    let reproduction = &finding.reproduction;
    println!("happens   {} of {} runs, the first in a new process", reproduction.failed, reproduction.tries);
    println!("unchecked {}", reproduction.unchecked);
    let (origin, attempts) = (&finding.origin, finding.origin.attempts);
    let minimal = if origin.minimal { "minimal" } else { "stopped by its time" };
    println!("found     seed {}, case {}; {attempts} minimization attempts, {minimal}", origin.seed, origin.index);
    println!("with      {}", origin.versions);
    Ok(Exit::Findings)
}

fn promote(
    name: &str,
    finding: &Finding,
    title: Option<String>,
    upstream: Option<String>,
    to: &Path,
) -> anyhow::Result<Exit> {
    std::fs::create_dir_all(to)?;
    let path = to.join(format!("{name}.toml"));
    if path.exists() {
        return Err(UsageError(format!("{} exists already", path.display())).into());
    }
    let regression = Regression {
        title: title.unwrap_or_else(|| finding.signature.to_string()),
        status: Status::Open,
        upstream,
        provenance: format!("snuffer hunt, seed {}, case {}", finding.origin.seed, finding.origin.index),
        devices: vec![finding.violation.device.to_string()],
        signature: Some(finding.signature.clone()),
        case: finding.case.clone(),
    };
    write_atomically(&path, regression.to_text().as_bytes())?;
    println!("{}", path.display());
    Ok(Exit::Clean)
}
