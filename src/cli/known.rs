//! `snuffer findings known`: the share of independently known issues that a store's findings show.

use std::path::PathBuf;

use anyhow::Context;
use globset::Glob;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Pattern, UsageError};
use crate::exit_code::Exit;
use crate::store::Store;

/// The list that belongs to this build.
const LIST: &str = include_str!("../../docs/known-issues.toml");

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

/// A list of known issues, such as `docs/known-issues.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    issue: Vec<Issue>,
}

/// A known issue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Issue {
    id: String,
    title: String,
    /// Patterns of the names of findings that show it.
    #[serde(default)]
    shown_by: Vec<String>,
    /// Why no finding can show it.
    #[serde(default)]
    unseen: Option<String>,
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
    let list: Known =
        toml::from_str(&args.text()?).map_err(|error| UsageError(format!("{}: {error}", args.shown())))?;
    let names: Vec<String> = store.all()?.into_iter().map(|(name, _)| name).collect();
    let mut all = list.issue.iter().map(|issue| issue.shown(&names)).collect::<anyhow::Result<Vec<_>>>()?;
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
    fn shown(&self) -> String {
        self.list.as_ref().map_or_else(|| "the list of this build".to_string(), |list| list.display().to_string())
    }

    fn text(&self) -> Result<String, UsageError> {
        let Some(list) = &self.list else { return Ok(LIST.to_string()) };
        std::fs::read_to_string(list).map_err(|error| UsageError(format!("cannot read {}: {error}", list.display())))
    }
}

impl Issue {
    fn shown<'a>(&'a self, names: &'a [String]) -> anyhow::Result<Shown<'a>> {
        let finding = first_match(&self.shown_by, names)?.map(String::as_str);
        let (state, by) = match (finding, self.unseen.as_deref()) {
            (Some(name), _) => (State::Found, Some(name)),
            (None, Some(why)) => (State::Unseen, Some(why)),
            (None, None) => (State::Missing, None),
        };
        Ok(Shown { state, id: &self.id, title: &self.title, by })
    }
}

fn first_match<'a>(patterns: &[String], names: &'a [String]) -> anyhow::Result<Option<&'a String>> {
    for pattern in patterns {
        let glob = Glob::new(pattern).with_context(|| format!("`{pattern}` is not a pattern"))?.compile_matcher();
        if let Some(name) = names.iter().find(|name| glob.is_match(name)) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}
