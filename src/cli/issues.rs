//! `snuffer findings issues`: an issue for each new finding, printed unless `--yes`, or a text for each cause in a folder.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde::Deserialize;

use super::findings::{news, readable};
use super::report::{Chosen, causes_of, plainest};
use super::{ChosenFindings, UsageError, check_release};
use crate::causes::RootCause;
use crate::console;
use crate::exit_code::Exit;
use crate::ops;
use crate::oracle::{Evidence, judge};
use crate::report;
use crate::store::regression::Regression;
use crate::store::{Finding, Store, write_atomically};

/// Arguments of `snuffer findings issues`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    chosen: ChosenFindings,
    /// The repository, as `OWNER/NAME`.
    #[arg(long)]
    repo: Option<String>,
    /// Open issues and comment, with `gh` and the token in `GH_TOKEN`. Without this, print them, and send nothing.
    #[arg(long, requires = "repo")]
    yes: bool,
    /// Write a report for each cause of the findings into this folder instead, and a list of them. Send nothing: a person files issues.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["yes", "repo"])]
    causes: Option<PathBuf>,
    /// At most this many issues may be open at once.
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

/// Opens an issue for each of the `new` findings, or comments on the open one. Findings beyond the cap wait for the next
/// run.
pub fn run(args: &Args, store: &Store, known: &[(String, Regression)]) -> anyhow::Result<Exit> {
    let new = args.chosen.of(news(store, known)?, known)?;
    new.iter().try_for_each(|(_, finding)| check_release(finding))?;
    if let Some(folder) = &args.causes {
        return by_cause(folder, readable(store)?, known);
    }
    let open = if args.yes { open_issues(args)? } else { BTreeMap::new() };
    let mut room = args.cap.saturating_sub(open.len());
    for (name, finding) in &new {
        let (title, body) = (finding.signature.to_string(), body(name, finding)?);
        match open.get(&title) {
            Some(number) => {
                println!("comment on #{number}: {title}");
                gh(args, &["issue", "comment", &number.to_string(), "--body", "Seen again."])?;
            }
            None if room == 0 => println!("not opened, {} are already: {title}", args.cap),
            None => {
                room -= 1;
                let would = if args.yes { "open" } else { "would open" };
                println!("{would}: {title}");
                if !args.yes {
                    println!("\n{body}");
                }
                gh(args, &["issue", "create", "--title", &title, "--label", LABEL, "--body", &body])?;
            }
        }
    }
    if !args.yes {
        println!("nothing was sent; add --yes and --repo to send");
    }
    Ok(if new.is_empty() { Exit::Clean } else { Exit::Findings })
}

/// Writes a report for each cause of `findings` into `folder`, and a list of the causes, the worst first.
fn by_cause(folder: &Path, findings: Vec<(String, Finding)>, known: &[(String, Regression)]) -> anyhow::Result<Exit> {
    let causes = RootCause::all().map_err(UsageError)?;
    let findings = causes_of(&causes, findings)?;
    let mut list = String::from("| rank | findings | cause | upstream |\n|---|---|---|---|\n");
    let mut written = 0;
    for cause in &causes {
        let Some((name, finding)) = plainest(cause, &findings) else { continue };
        let count = findings.iter().filter(|(_, _, own)| own.is_some_and(|own| own.name == cause.name)).count();
        let chosen = Chosen { name, finding, cause: Some(cause), is_asked: true };
        let text = chosen.text(Err("`snuffer report` builds a program of it"), (&[], None), known)?;
        write_atomically(&folder.join(format!("{}.md", cause.name)), text.as_bytes())?;
        let (rank, title, upstream) = (cause.rank, &cause.title, cause.upstream.join(" "));
        let _ = writeln!(list, "| {rank} | {count} | [{title}]({}.md) | {upstream} |", cause.name);
        written += 1;
    }
    write_atomically(&folder.join("README.md"), list.as_bytes())?;
    let rest = findings.iter().filter(|(_, _, cause)| cause.is_none()).count();
    println!("{} in {}", console::count(written, "report"), folder.display());
    println!("{} that no cause explains; `snuffer causes` lists them", console::count(rest, "finding"));
    Ok(if findings.is_empty() { Exit::Clean } else { Exit::Findings })
}

/// The numbers of the open issues with this suite's label, by title.
fn open_issues(args: &Args) -> anyhow::Result<BTreeMap<String, u64>> {
    if std::env::var_os("GH_TOKEN").is_none() {
        return Err(UsageError("--yes needs a token in GH_TOKEN".to_string()).into());
    }
    let list = ["issue", "list", "--label", LABEL, "--state", "open", "--limit", "1000", "--json", "number,title"];
    let text = gh(args, &list)?;
    let issues: Vec<Issue> = serde_json::from_str(&text).context("cannot read the answer of `gh issue list`")?;
    Ok(issues.into_iter().map(|issue| (issue.title, issue.number)).collect())
}

/// Runs `gh`; does nothing without `--yes`.
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
    let Some(op) = ops::find(&finding.case.op) else {
        bail!("this build has no op `{}`; use the version that found it", finding.case.op)
    };
    let evidence = Evidence::new(op, &finding.case, &finding.observations);
    let reproduction = &finding.reproduction;
    Ok(format!(
        "Found by fuzzing, with {}; {} of {} runs.\n\n```\n{}```\n\nReplay: save the case above and run `snuffer replay FILE`. Name: `{name}`.\n",
        finding.origin.versions,
        reproduction.failed,
        reproduction.tries,
        report::replay(&evidence, &judge(&evidence).led_by(&finding.signature)),
    ))
}
