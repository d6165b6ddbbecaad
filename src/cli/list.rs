//! `snuffer findings list`: findings, the worst first, and how many they are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::ChosenFindings;
use crate::causes::{Explanation, KnownFailures};
use crate::console;
use crate::exit_code::Exit;
use crate::oracle::{Rank, Signature};
use crate::store::{Finding, Store};

/// Arguments of `snuffer findings list`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    chosen: ChosenFindings,
    /// Only findings that neither a cause nor a regression explains.
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
    /// The status of its regression, or else `known` or `new`.
    #[schemars(extend("enum" = Explanation::words()))]
    status: String,
    /// True if neither a cause nor a regression explains it.
    news: bool,
    /// How bad it is.
    rank: Rank,
    /// The upstream issue or pull request.
    upstream: Option<&'a str>,
    /// The name of the cause that explains it.
    cause: Option<&'a str>,
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
    chosen.retain(|(_, finding)| !args.new || !known.explain(finding).is_known());
    for (name, finding) in &chosen {
        if args.json {
            println!("{}", json(name, finding, known)?);
        } else {
            let what = format!("{}: {}", known.explain(finding).status(), finding.violation.detail);
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
    serde_json::to_string(&Listed::new(name, finding, &known.explain(finding)))
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
    fn new(name: &'a str, finding: &'a Finding, explanation: &Explanation<'a>) -> Self {
        Self {
            name,
            status: explanation.status(),
            news: !explanation.is_known(),
            rank: finding.signature.rank(),
            upstream: explanation.state.regression().and_then(|regression| regression.upstream.as_deref()),
            cause: explanation.cause.map(|cause| cause.name.as_str()),
            signature: &finding.signature,
            detail: &finding.violation.detail,
            devices: finding.devices().iter().map(ToString::to_string).collect(),
        }
    }
}
