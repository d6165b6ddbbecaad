//! `snuffer findings`.

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::{StoreArg, UsageError, issues, known};
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
    /// All of them for another tool: code scanning, a test report, a job's summary.
    Export {
        /// The form.
        #[arg(value_enum)]
        form: Form,
        /// Regressions: a finding that one of them shows is not new.
        #[arg(long, default_value = "corpora/regressions")]
        known: PathBuf,
    },
    /// An issue for each new finding: printed, or with `--yes` opened.
    Issues {
        #[command(flatten)]
        args: issues::Args,
        /// Regressions: a finding that one of them shows is not new.
        #[arg(long, default_value = "corpora/regressions")]
        known: PathBuf,
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

/// How findings are exported.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Form {
    /// SARIF 2.1.0.
    Sarif,
    /// `JUnit` XML, a test for each op.
    Junit,
    /// Markdown: the campaigns, and what is new.
    Summary,
}

pub fn run(args: Args) -> anyhow::Result<Exit> {
    let store = Store::open(&args.store.store)?;
    match args.command {
        Command::List => list(&store),
        Command::Show { name } => show(&store.get(&name)?),
        Command::Known { list } => known::run(&store, &list),
        Command::Export { form, known } => export(&store, form, &known),
        Command::Issues { args, known } => issues::run(&args, &new(&store, &known)?),
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

/// Prints all findings in another form. `Findings` where one is new, `Harness` where no campaign ran a case: a night in
/// which nothing ran is no green one.
fn export(store: &Store, form: Form, known: &Path) -> anyhow::Result<Exit> {
    let (records, tally) = (store.records()?, store.tally()?);
    let (findings, new) = (readable(store)?, new(store, known)?);
    let is_known = |finding: &Finding| new.iter().all(|(_, other)| other.signature != finding.signature);
    match form {
        Form::Sarif => println!("{:#}", report::sarif(&findings)),
        Form::Junit => print!("{}", report::junit(&tally, &findings)?),
        Form::Summary => print!("{}", report::summary(&records, &findings, is_known)),
    }
    Ok(match () {
        () if tally.total.cases == 0 => Exit::Harness,
        () if !new.is_empty() => Exit::Findings,
        () => Exit::Clean,
    })
}

fn readable(store: &Store) -> anyhow::Result<Vec<(String, Finding)>> {
    store.all()?.into_iter().map(|(name, finding)| Ok((name, finding?))).collect()
}

/// The findings that no regression in the folder `known` shows.
fn new(store: &Store, known: &Path) -> anyhow::Result<Vec<(String, Finding)>> {
    let known = regressions(known)?;
    let mut findings = readable(store)?;
    findings.retain(|(_, finding)| known.iter().all(|one| one.signature.as_ref() != Some(&finding.signature)));
    Ok(findings)
}

/// Every regression in `folder`.
pub(super) fn regressions(folder: &Path) -> anyhow::Result<Vec<Regression>> {
    let unreadable = |error: std::io::Error| UsageError(format!("cannot read {}: {error}", folder.display()));
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let text = std::fs::read_to_string(&path).map_err(unreadable)?;
        all.push(Regression::parse(&text).map_err(|error| UsageError(format!("{}: {error}", path.display())))?);
    }
    Ok(all)
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
