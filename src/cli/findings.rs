//! `snuffer findings`: lists, shows and exports the findings of a store.

use std::path::PathBuf;

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;

use super::{KnownArg, StoreArg, UsageError, issues, known, promote};
use crate::exit_code::Exit;
use crate::ops;
use crate::oracle::{Evidence, Signature, judge};
use crate::report;
use crate::store::regression::{Regression, TriageState, triage_state};
use crate::store::{Finding, Store, similar};

/// Arguments of `snuffer findings`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    store: StoreArg,
    #[command(flatten)]
    known: KnownArg,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List findings, each with the status of its regression, or `new`.
    List {
        /// Only findings that no regression expects.
        #[arg(long)]
        new: bool,
        /// Print JSON, one object per line.
        #[arg(long)]
        json: bool,
    },
    /// Show one finding.
    Show {
        /// Its name in `snuffer findings list`.
        name: String,
    },
    /// Group findings that likely have the same cause.
    Similar {
        /// Show only the group of this finding.
        name: Option<String>,
    },
    /// Show which known issues of candle the findings show.
    Known {
        /// The list of known issues.
        #[arg(long, default_value = "docs/known-issues.toml")]
        list: PathBuf,
    },
    /// Export all findings for code scanning, as a test report or as a summary.
    Export {
        /// The format.
        #[arg(value_enum)]
        form: Form,
    },
    /// Print an issue for each new finding, or open it with `--yes`.
    Issues(issues::Args),
    /// Write a finding as a regression, which the test suite replays.
    Promote(promote::Args),
}

/// How findings are exported.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Form {
    /// SARIF 2.1.0.
    Sarif,
    /// `JUnit` XML, one test per op.
    Junit,
    /// Markdown: the campaigns and the new findings.
    Summary,
}

pub fn run(args: Args) -> anyhow::Result<Exit> {
    let store = args.store.existing()?;
    match args.command {
        Command::List { new, json } => list(&store, &args.known.read()?, new, json),
        Command::Show { name } => show(&args.store.finding(&name)?),
        Command::Similar { name } => similar_to(&store, name.as_deref()),
        Command::Known { list } => known::run(&store, &list),
        Command::Export { form } => export(&store, form, &args.known.read()?),
        Command::Issues(issues) => issues::run(&issues, &news(&store, &args.known.read()?)?),
        Command::Promote(promote) => {
            let finding = args.store.finding(&promote.name)?;
            promote::run(promote, &finding)
        }
    }
}

/// A finding in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listed<'a> {
    /// Its name in the store.
    name: &'a str,
    /// `new`, or the status of the regression that expects it.
    status: String,
    /// Whether somebody should look at it.
    news: bool,
    /// The upstream issue or pull request.
    upstream: Option<&'a str>,
    /// Its signature: findings with the same signature are the same finding.
    signature: &'a Signature,
    /// What was expected and what happened.
    detail: &'a str,
    /// The devices on which it fails.
    devices: Vec<String>,
}

fn list(store: &Store, known: &[(String, Regression)], only_new: bool, json: bool) -> anyhow::Result<Exit> {
    let mut exit = Exit::Clean;
    for (name, finding) in store.all()? {
        let finding = match finding {
            Ok(finding) => finding,
            Err(error) => {
                exit = Exit::Harness;
                eprintln!("{name}\n    {error:#}");
                continue;
            }
        };
        let triage_state = triage_state(&finding, known);
        if only_new && !triage_state.is_news() {
            continue;
        }
        exit = if exit == Exit::Clean { Exit::Findings } else { exit };
        if json {
            println!("{}", serde_json::to_string(&Listed::new(&name, &finding, triage_state))?);
        } else {
            println!("{name}\n    {}: {}", triage_state.word(), finding.violation.detail);
        }
    }
    Ok(exit)
}

impl<'a> Listed<'a> {
    fn new(name: &'a str, finding: &'a Finding, triage_state: TriageState<'a>) -> Self {
        Self {
            name,
            status: triage_state.word(),
            news: triage_state.is_news(),
            upstream: triage_state.regression().and_then(|regression| regression.upstream.as_deref()),
            signature: &finding.signature,
            detail: &finding.violation.detail,
            devices: finding.devices().iter().map(ToString::to_string).collect(),
        }
    }
}

/// Prints the groups of findings that likely have the same cause, or the group of one finding.
fn similar_to(store: &Store, name: Option<&str>) -> anyhow::Result<Exit> {
    let findings = readable(store)?;
    if let Some(name) = name.filter(|name| findings.iter().all(|(other, _)| other != name)) {
        return Err(UsageError(format!("no finding `{name}`; `snuffer findings list` lists them")).into());
    }
    let mut groups = similar(&findings);
    groups.retain(|(_, names)| name.is_none_or(|name| names.contains(&name)));
    for (cause, names) in &groups {
        println!("{} findings: {cause}", names.len());
        for name in names {
            println!("    {name}");
        }
    }
    let grouped: usize = groups.iter().map(|(_, names)| names.len()).sum();
    println!("{grouped} of {} findings in {} groups", findings.len(), groups.len());
    Ok(if findings.is_empty() { Exit::Clean } else { Exit::Findings })
}

/// Prints all findings in another format. `Findings` if one is new. `Harness` if no campaign ran a case: CI must not pass if
/// nothing ran.
fn export(store: &Store, form: Form, known: &[(String, Regression)]) -> anyhow::Result<Exit> {
    let (records, tally, findings) = (store.records()?, store.tally()?, readable(store)?);
    let triage_states: Vec<TriageState> = findings.iter().map(|(_, finding)| triage_state(finding, known)).collect();
    match form {
        Form::Sarif => println!("{:#}", report::sarif(&findings, &triage_states)),
        Form::Junit => print!("{}", report::junit(&tally, &findings, &triage_states)?),
        Form::Summary => print!("{}", report::summary(&records, &findings, &triage_states)),
    }
    Ok(match () {
        () if tally.total.cases == 0 => Exit::Harness,
        () if triage_states.iter().any(TriageState::is_news) => Exit::Findings,
        () => Exit::Clean,
    })
}

fn readable(store: &Store) -> anyhow::Result<Vec<(String, Finding)>> {
    store.all()?.into_iter().map(|(name, finding)| Ok((name, finding?))).collect()
}

/// The findings that no regression expects.
pub fn news(store: &Store, known: &[(String, Regression)]) -> anyhow::Result<Vec<(String, Finding)>> {
    let mut findings = readable(store)?;
    findings.retain(|(_, finding)| triage_state(finding, known).is_news());
    Ok(findings)
}

/// Prints all of `finding`.
pub fn show(finding: &Finding) -> anyhow::Result<Exit> {
    let Some(op) = ops::find(&finding.case.op) else {
        return Err(
            UsageError(format!("this build has no op `{}`; use the version that found it", finding.case.op)).into()
        );
    };
    let evidence = Evidence::new(op, &finding.case, &finding.observations);
    print!("{}", report::text(&evidence, &judge(&evidence)));
    let reproduction = &finding.reproduction;
    println!("happens   {} of {} runs, the first in a new process", reproduction.failed, reproduction.tries);
    println!("unchecked {}", reproduction.unchecked);
    let (origin, attempts) = (&finding.origin, finding.origin.attempts);
    let minimal = if origin.minimal { "minimal" } else { "stopped by its time limit" };
    println!("found     seed {}, case {}; {attempts} minimization attempts, {minimal}", origin.seed, origin.index);
    println!("with      {}", origin.versions);
    for (device, hardware) in &origin.hardware {
        println!("on        {device}: {hardware}");
    }
    Ok(Exit::Findings)
}
