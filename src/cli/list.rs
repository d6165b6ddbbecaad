//! `snuffer findings list`: findings, the worst first, and how many they are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::ChosenFindings;
use crate::causes::KnownFailures;
use crate::console;
use crate::exit_code::Exit;
use crate::oracle::{Rank, Signature};
use crate::store::regression::TriageState;
use crate::store::{Finding, Store};

/// Arguments of `snuffer findings list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    chosen: ChosenFindings,
    /// Only findings that no regression expects.
    #[arg(long)]
    new: bool,
    /// Print JSON, one object per line.
    #[arg(long)]
    json: bool,
}

/// A finding in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listed<'a> {
    /// Its name in the store.
    name: &'a str,
    /// `new`, or the status of the regression that expects it.
    #[schemars(extend("enum" = TriageState::words()))]
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

/// Lists findings. `Harness` if one is damaged, as it cannot be listed.
pub fn run(args: &Args, store: &Store, known: &KnownFailures) -> anyhow::Result<Exit> {
    let (mut findings, mut damaged) = (Vec::new(), 0);
    for (name, finding) in store.all()? {
        match finding {
            Ok(finding) => findings.push((name, finding)),
            Err(problem) => {
                damaged += 1;
                eprintln!("{name}\n    {problem:#}");
            }
        }
    }
    let all = findings.len();
    let mut chosen = args.chosen.of(findings, known)?;
    chosen.retain(|(_, finding)| !args.new || known.state(finding).is_news());
    for (name, finding) in &chosen {
        if args.json {
            println!("{}", json(name, finding, known)?);
        } else {
            let state = known.state(finding);
            let what = format!("{}: {}", state.word(), finding.violation.detail);
            println!("{name}\n{}", console::under_a_name(Some(finding.signature.rank()), &what));
        }
    }
    if !args.json {
        println!("{}", counted(&chosen, all));
    }
    Ok(if damaged > 0 { Exit::Harness } else { Exit::Clean })
}

/// A finding as JSON.
pub fn json(name: &str, finding: &Finding, known: &KnownFailures) -> serde_json::Result<String> {
    serde_json::to_string(&Listed::new(name, finding, known.state(finding)))
}

/// How many findings were chosen, and how many of each rank.
fn counted(chosen: &[(String, Finding)], all: usize) -> String {
    let mut ranks: BTreeMap<Rank, usize> = BTreeMap::new();
    for (_, finding) in chosen {
        *ranks.entry(finding.signature.rank()).or_default() += 1;
    }
    let ranks: Vec<String> = ranks.iter().map(|(rank, findings)| format!("{findings} {rank}")).collect();
    let of = if chosen.len() == all { String::new() } else { format!("{} of ", chosen.len()) };
    let colon = if ranks.is_empty() { "" } else { ": " };
    format!("{of}{}{colon}{}", console::count(all, "finding"), ranks.join(", "))
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
