//! `snuffer findings`: lists, shows, sums up and exports the findings of a store.

use std::path::Path;

use clap::Subcommand;

use super::{Format, FormatArg, KnownArg, StoreArg, cases, intact, is_file, issues, list, promote, similar};
use crate::causes::{Explanation, KnownFailures, Sighting, Upstream};
use crate::console::{self, Shell, quoted};
use crate::exit_code::Exit;
use crate::oracle::{Evidence, judge};
use crate::report::{self, Answer, Summary};
use crate::store::{Finding, Record, Store, Tally, Unchecked, id};

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
    List(list::Args),
    /// Show one finding.
    Show {
        /// Its name, its id, or a unique part of its name; or its file; `-` reads standard input.
        name: String,
        /// Print JSON, as `list` does.
        #[arg(long)]
        json: bool,
    },
    /// Summarize the runs, the findings by rank and likely cause, and the worst findings.
    Summary(FormatArg),
    /// Group findings that likely have the same cause.
    Similar(similar::Args),
    /// Export all findings for code scanning, or as a test report.
    Export {
        /// The format.
        #[arg(long = "format", value_enum)]
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

pub fn run(args: Args, named: &StoreArg) -> anyhow::Result<Exit> {
    let (store, known) = (|| named.existing(), || args.known.failures());
    match args.command {
        Command::List(list) => list::run(&list, &store()?, &known()?),
        Command::Show { name, json } => {
            let (typed, (name, finding)) = (Path::new(&name), named.finding(&name)?);
            if json {
                println!("{}", list::json(&name, &finding, &known()?)?);
                return Ok(Exit::Clean);
            }
            // The store may lack what is in a file.
            let has = |store: Store| store.get(&name).is_ok_and(|own| own.as_ref() == Some(&finding));
            let is_outside = is_file(typed) && !named.existing().is_ok_and(has);
            let replayed = if is_outside { quoted(typed) } else { id(&name) };
            show(&replayed, &finding, &known()?, &named.shell())
        }
        Command::Summary(format) => summary(&store()?, format.format(), &known()?, &named.shell()),
        Command::Similar(similar) => similar::run(&similar, named, &known()?),
        Command::Export { form } => export(&store()?, form, &known()?),
        Command::Issues(issues) => issues::run(&issues, &store()?, &known()?),
        Command::Promote(promote) => {
            let (_, finding) = named.finding(&promote.name)?;
            promote::run(promote, &finding, &args.known)
        }
    }
}

/// Prints what the campaigns of a store came to.
fn summary(store: &Store, format: Format, known: &KnownFailures, shell: &Shell) -> anyhow::Result<Exit> {
    let mut complete = Exit::Clean;
    let (records, findings) = (intact::campaigns(store, &mut complete)?, intact::findings(store, &mut complete)?);
    let records: Vec<&Record> = records.iter().map(|(_, record)| record).collect();
    let summary = Summary::new(&records, &findings, known);
    match format {
        Format::Text => println!("{}", console::summary(&summary, "finding", shell)),
        Format::Markdown => print!("{}", summary.markdown(&records)),
        Format::Json => println!("{}", serde_json::to_string(&summary)?),
    }
    Ok(exit(summary.ran.counts.cases, complete))
}

/// `Harness` if no campaign ran a case, or if something was left out: CI must not pass if nothing ran.
fn exit(cases: u64, complete: Exit) -> Exit {
    if cases == 0 { Exit::Harness } else { complete }
}

/// Prints all findings in another format.
fn export(store: &Store, form: Form, known: &KnownFailures) -> anyhow::Result<Exit> {
    let mut complete = Exit::Clean;
    let (records, findings) = (intact::campaigns(store, &mut complete)?, intact::findings(store, &mut complete)?);
    let tally = Tally::sum(records.iter().map(|(_, record)| record));
    let explanations: Vec<Explanation> = findings.iter().map(|(_, finding)| known.explain(finding)).collect();
    match form {
        Form::Sarif => println!("{:#}", report::sarif(&findings, &explanations)),
        Form::Junit => print!("{}", report::junit(&tally, &findings, &explanations)?),
    }
    Ok(exit(tally.total.cases, complete))
}

/// Prints all of `finding`: what happens, what the regressions say of it, and how to run it again, by the name `replayed`.
pub fn show(replayed: &str, finding: &Finding, known: &KnownFailures, shell: &Shell) -> anyhow::Result<Exit> {
    let evidence = Evidence::new(cases::op(&finding.case)?, &finding.case, &finding.observations);
    let verdict = judge(&evidence).led_by(&finding.signature);
    let text = report::replay(&evidence, &verdict, &Answer::new(&evidence, &verdict, known));
    print!("{}", console::labelled(&text));
    let explanation = known.explain(finding);
    let title = explanation.state.regression().map_or_else(String::new, |regression| format!(": {}", regression.title));
    println!("status    {}{title}", explanation.status());
    println!("upstream  {}", upstream(finding, known));
    let shell = shell.clone().on(finding.origin.candle.as_ref(), finding.origin.kernels.as_ref());
    println!("replay    {}", shell.on_the_same(&format!("replay {replayed}")));
    let reproduction = &finding.reproduction;
    println!("happens   {} of {} runs, the first in a new process", reproduction.failed, reproduction.tries);
    let build = if matches!(reproduction.unchecked, Unchecked::NotRun(_)) { "" } else { " without overflow checks" };
    println!("release   {}{build}", reproduction.unchecked);
    let (origin, attempts) = (&finding.origin, finding.origin.attempts);
    let minimal = if origin.minimal { "none fails in the same way" } else { "the time limit came first" };
    println!("found     by seed {}, as case {}", origin.seed, origin.index);
    println!("minimized {attempts} simpler cases were tried, and {minimal}");
    println!("with      {}", origin.versions);
    for (device, hardware) in &origin.hardware {
        println!("on        {device}: {hardware}");
    }
    if let Some(candle) = &origin.candle {
        println!("candle    {candle}");
    }
    if let Some(edited) = &origin.kernels {
        println!("kernels   edited: {edited}");
    }
    if let Some(tool) = origin.sanitizer {
        println!("under     {tool}: replay it with `--sanitizer {tool}`");
    }
    Ok(Exit::Clean)
}

/// The issues about a finding, or about another regression with probably the same cause.
fn upstream(finding: &Finding, known: &KnownFailures) -> String {
    match known.upstream(&Sighting::of(finding)) {
        None => "none known".to_string(),
        Some(links @ Upstream { same_cause_as: None, .. }) => links.to_string(),
        Some(links @ Upstream { same_cause_as: Some(other), .. }) => {
            format!("{links}; probably the same cause as: {other}")
        }
    }
}
