//! `snuffer findings`: lists, shows, sums up and exports the findings of a store.

use std::path::PathBuf;

use clap::Subcommand;
use schemars::JsonSchema;
use serde::Serialize;

use super::{KnownArg, StoreArg, UsageError, issues, known, promote};
use crate::console::{self, Shell};
use crate::exit_code::Exit;
use crate::ops;
use crate::oracle::{Evidence, Rank, Signature, judge};
use crate::report::{self, Summary};
use crate::store::regression::{Regression, TriageState, triage_state};
use crate::store::{Finding, Record, Store, similar};

/// Arguments of `snuffer findings`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    known: KnownArg,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List findings, the worst first, each with the status of its regression, or `new`.
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
        /// Its name, its id, or a part of its name that no other has.
        name: String,
    },
    /// Sum up: how much ran, what was found by rank and by likely cause, the worst findings.
    Summary {
        /// The format.
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
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
    /// Export all findings for code scanning, or as a test report.
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
}

/// The formats of a summary.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// Lines for a terminal, and what to do next.
    Text,
    /// Markdown with a table of the campaigns, for a CI job.
    Markdown,
}

pub fn run(args: Args, named: &StoreArg) -> anyhow::Result<Exit> {
    let store = named.existing()?;
    match args.command {
        Command::List { new, json } => list(&store, &args.known.read()?, new, json),
        Command::Show { name } => show(&named.finding(&name)?.1),
        Command::Summary { format } => summary(&store, format, &args.known.read()?, &named.shell()),
        Command::Similar { name } => similar_to(&store, name.as_deref()),
        Command::Known { list } => known::run(&store, &list),
        Command::Export { form } => export(&store, form, &args.known.read()?),
        Command::Issues(issues) => issues::run(&issues, &news(&store, &args.known.read()?)?),
        Command::Promote(promote) => {
            let (_, finding) = named.finding(&promote.name)?;
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
    /// How bad it is.
    rank: Rank,
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
            let rank = finding.signature.rank();
            println!("{name}\n    {rank}, {}: {}", triage_state.word(), finding.violation.detail);
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
            rank: finding.signature.rank(),
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

/// Prints what the campaigns of a store came to.
fn summary(store: &Store, format: Format, known: &[(String, Regression)], shell: &Shell) -> anyhow::Result<Exit> {
    let (records, findings) = (store.records()?, readable(store)?);
    let records: Vec<&Record> = records.iter().collect();
    let summary = Summary::new(&records, &findings, known);
    match format {
        Format::Text => println!("{}", console::summary(&summary, "finding", shell)),
        Format::Markdown => print!("{}", summary.markdown(&records)),
    }
    Ok(exit(summary.ran.counts.cases, summary.found.known < summary.found.findings))
}

/// `Findings` if one is new. `Harness` if no campaign ran a case: CI must not pass if nothing ran.
fn exit(cases: u64, any_new: bool) -> Exit {
    match () {
        () if cases == 0 => Exit::Harness,
        () if any_new => Exit::Findings,
        () => Exit::Clean,
    }
}

/// Prints all findings in another format.
fn export(store: &Store, form: Form, known: &[(String, Regression)]) -> anyhow::Result<Exit> {
    let (tally, findings) = (store.tally()?, readable(store)?);
    let triage_states: Vec<TriageState> = findings.iter().map(|(_, finding)| triage_state(finding, known)).collect();
    match form {
        Form::Sarif => println!("{:#}", report::sarif(&findings, &triage_states)),
        Form::Junit => print!("{}", report::junit(&tally, &findings, &triage_states)?),
    }
    Ok(exit(tally.total.cases, triage_states.iter().any(TriageState::is_news)))
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
