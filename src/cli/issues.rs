//! `snuffer findings issues`: an issue for every new finding, on paper unless asked otherwise.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, bail};
use serde::Deserialize;

use super::UsageError;
use crate::exit_code::Exit;
use crate::ops;
use crate::oracle::{Evidence, judge};
use crate::report;
use crate::store::Finding;

/// Where issues go, and how many.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The repository, as `OWNER/NAME`.
    #[arg(long)]
    repo: Option<String>,
    /// Really open and comment, by `gh` and the token in `GH_TOKEN`. Without this, what would be done is printed.
    #[arg(long, requires = "repo")]
    yes: bool,
    /// How many issues of this suite may be open at once.
    #[arg(long, default_value_t = 10)]
    cap: usize,
}

/// The label of this suite's issues.
const LABEL: &str = "snuffer";

#[derive(Debug, Deserialize)]
struct Issue {
    number: u64,
    title: String,
}

/// Opens an issue for each of the `new` findings, or comments on the one that there is. Whatever is beyond the cap waits for
/// the next time.
pub fn run(args: &Args, new: &[(String, Finding)]) -> anyhow::Result<Exit> {
    let open = if args.yes { open_issues(args)? } else { BTreeMap::new() };
    let mut room = args.cap.saturating_sub(open.len());
    for (name, finding) in new {
        let (title, body) = (finding.signature.to_string(), body(name, finding)?);
        match open.get(&title) {
            Some(number) => {
                println!("comment on #{number}: {title}");
                gh(args, &["issue", "comment", &number.to_string(), "--body", "Seen again."])?;
            }
            None if room == 0 => println!("left for later, {} are open: {title}", args.cap),
            None => {
                room -= 1;
                println!("open: {title}");
                gh(args, &["issue", "create", "--title", &title, "--label", LABEL, "--body", &body])?;
            }
        }
    }
    if !args.yes {
        println!("nothing was sent: --yes and --repo do");
    }
    Ok(if new.is_empty() { Exit::Clean } else { Exit::Findings })
}

/// What is open with this suite's label, by title.
fn open_issues(args: &Args) -> anyhow::Result<BTreeMap<String, u64>> {
    if std::env::var_os("GH_TOKEN").is_none() {
        return Err(UsageError("--yes needs a token in GH_TOKEN".to_string()).into());
    }
    let list = ["issue", "list", "--label", LABEL, "--state", "open", "--limit", "1000", "--json", "number,title"];
    let text = gh(args, &list)?;
    let issues: Vec<Issue> = serde_json::from_str(&text).context("`gh issue list` answers nonsense")?;
    Ok(issues.into_iter().map(|issue| (issue.title, issue.number)).collect())
}

/// Runs `gh`, if anything is to be sent.
fn gh(args: &Args, what: &[&str]) -> anyhow::Result<String> {
    let (true, Some(repo)) = (args.yes, &args.repo) else { return Ok(String::new()) };
    let output = Command::new("gh").args(what).args(["--repo", repo]).output().context("cannot run `gh`")?;
    if !output.status.success() {
        bail!("`gh {} {}` failed: {}", what[0], what[1], String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The text of an issue.
pub fn body(name: &str, finding: &Finding) -> anyhow::Result<String> {
    let Some(op) = ops::find(&finding.case.op) else { bail!("this build has no op `{}`", finding.case.op) };
    let evidence = Evidence::new(op, &finding.case, &finding.observations);
    let reproduction = &finding.reproduction;
    Ok(format!(
        "Found by fuzzing, with {}; {} of {} runs.\n\n```\n{}```\n\nReplay: save the case above and run `snuffer replay FILE`. Name: `{name}`.\n",
        finding.origin.versions,
        reproduction.failed,
        reproduction.tries,
        report::text(&evidence, &judge(&evidence)),
    ))
}
