//! `snuffer findings known`: the share of independently known issues that a store's findings show.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use super::findings::readable;
use super::{Pattern, UsageError};
use crate::causes::{KnownIssue, Sighting};
use crate::exit_code::Exit;
use crate::store::{Finding, Store};

/// Arguments of `snuffer findings known`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only the issue with this id, or those whose id has this in it or fits it, such as `B*`.
    pattern: Option<Pattern>,
    /// Another list of known issues.
    #[arg(long)]
    list: Option<PathBuf>,
    /// Print JSON, one object per line.
    #[arg(long)]
    json: bool,
}

/// Whether findings show an issue, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum State {
    /// No finding shows it, although one could.
    Missing,
    /// A finding shows it.
    Found,
    /// No finding can show it.
    Unseen,
}

/// A known issue, and whether the store's findings show it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Shown<'a> {
    state: State,
    /// The issue's name in the list.
    id: &'a str,
    /// What is wrong with candle.
    title: &'a str,
    /// The first finding that shows it, or why none can.
    by: Option<&'a str>,
}

/// Prints each issue with the first finding that shows it. `Findings` if no finding shows an issue that one could.
pub fn run(args: &Args, store: &Store) -> anyhow::Result<Exit> {
    let list = args.read()?;
    let findings = readable(store)?;
    let mut all = Vec::new();
    for issue in list.as_deref().unwrap_or(KnownIssue::own()) {
        all.push(shown(issue, &findings).map_err(|problem| UsageError(format!("{}: {problem}", args.name())))?);
    }
    if let Some(pattern) = &args.pattern {
        all = pattern.choose(all, |issue| issue.id);
    }
    all.sort_by_key(|issue| issue.state);
    for issue in &all {
        if args.json {
            println!("{}", serde_json::to_string(issue)?);
            continue;
        }
        let word = match issue.state {
            State::Missing => "MISSING",
            State::Found => "found",
            State::Unseen => "unseen",
        };
        println!("{word:<7}  {}  {}", issue.id, issue.title);
        issue.by.iter().for_each(|by| println!("         {by}"));
    }
    let count = |state| all.iter().filter(|issue| issue.state == state).count();
    let (found, missing, unseen) = (count(State::Found), count(State::Missing), count(State::Unseen));
    if !args.json {
        let of = all.len();
        println!("{found} of {of} known issues found, {missing} missing, {unseen} that no finding can show");
    }
    Ok(if missing == 0 { Exit::Clean } else { Exit::Findings })
}

impl Args {
    fn name(&self) -> String {
        self.list.as_ref().map_or_else(|| "the list of this build".to_string(), |list| list.display().to_string())
    }

    /// The other list, if one is given.
    fn read(&self) -> Result<Option<Vec<KnownIssue>>, UsageError> {
        let Some(list) = &self.list else { return Ok(None) };
        let text = std::fs::read_to_string(list);
        let text = text.map_err(|error| UsageError(format!("cannot read {}: {error}", list.display())))?;
        KnownIssue::read(&text).map(Some).map_err(|problem| UsageError(format!("{}: {problem}", self.name())))
    }
}

/// Whether one of `findings` shows `issue`.
fn shown<'a>(issue: &'a KnownIssue, findings: &'a [(String, Finding)]) -> Result<Shown<'a>, String> {
    let mut by = None;
    for (name, finding) in findings {
        if issue.is_shown_by(&Sighting::of(finding))? {
            by = Some(name.as_str());
            break;
        }
    }
    let (state, by) = match (by, issue.unseen.as_deref()) {
        (Some(name), _) => (State::Found, Some(name)),
        (None, Some(why)) => (State::Unseen, Some(why)),
        (None, None) => (State::Missing, None),
    };
    Ok(Shown { state, id: &issue.id, title: &issue.title, by })
}
