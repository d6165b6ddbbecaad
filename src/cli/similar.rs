//! `snuffer findings similar`: groups of findings that likely have the same cause.

use schemars::JsonSchema;
use serde::Serialize;

use super::StoreArg;
use crate::causes::KnownFailures;
use crate::console;
use crate::exit_code::Exit;
use crate::oracle::Rank;
use crate::store::Finding;

/// Arguments of `snuffer findings similar`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show only the group of this finding: its name, its id, or a unique part of its name.
    name: Option<String>,
    /// Print JSON, one object per line.
    #[arg(long)]
    json: bool,
}

/// Findings that likely have the same cause.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Alike<'a> {
    /// The cause in words.
    cause: String,
    /// The worst rank of them.
    rank: Rank,
    /// Their names in the store, the worst first.
    findings: Vec<&'a str>,
}

/// Prints the groups, the worst first, or that of one finding.
pub fn run(args: &Args, named: &StoreArg, known: &KnownFailures) -> anyhow::Result<Exit> {
    let findings = named.existing()?.readable()?;
    let one = args.name.as_ref().map(|typed| named.finding(typed)).transpose()?.map(|(name, _)| name);
    let groups: Vec<Alike> =
        known.similar(&findings).into_iter().map(|(cause, names)| alike(cause, names, &findings)).collect();
    let (mut shown, all) = (groups, findings.len());
    if let Some(name) = &one {
        shown.retain(|group| group.findings.contains(&name.as_str()));
        if shown.is_empty() && !args.json {
            println!("no other finding has the likely cause of {name}");
            return Ok(Exit::Clean);
        }
    }
    shown.sort_by_key(|group| (group.rank, std::cmp::Reverse(group.findings.len())));
    for group in &shown {
        if args.json {
            println!("{}", serde_json::to_string(group)?);
            continue;
        }
        let what = format!("{}: {}", console::count(group.findings.len(), "finding"), group.cause);
        println!("{}", console::headed(group.rank, &what));
        group.findings.iter().for_each(|name| println!("    {name}"));
    }
    if !args.json {
        let grouped: usize = shown.iter().map(|group| group.findings.len()).sum();
        println!("{grouped} of {} in {}", console::count(all, "finding"), console::count(shown.len(), "group"));
    }
    Ok(Exit::Clean)
}

fn alike<'a>(cause: String, names: Vec<&'a str>, findings: &[(String, Finding)]) -> Alike<'a> {
    let ranks = findings.iter().filter(|(name, _)| names.contains(&name.as_str()));
    let rank = ranks.map(|(_, finding)| finding.signature.rank()).min().unwrap_or(Rank::Cost);
    Alike { cause, rank, findings: names }
}
