//! `snuffer findings issues`: an issue for each new finding, printed unless `--yes`, or one for each cause in a folder.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde::Deserialize;

use super::{ChosenFindings, UsageError, cases, check_release};
use crate::candles::{self, fixed};
use crate::causes::{KnownFailures, RootCause, Sighting};
use crate::console;
use crate::exit_code::Exit;
use crate::oracle::Evidence;
use crate::report::{Report, Why, inline};
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
    body: String,
}

/// Opens an issue for each of the `new` findings, or comments on the open one. Findings beyond the cap wait for the next
/// run.
pub fn run(args: &Args, store: &Store, known: &KnownFailures) -> anyhow::Result<Exit> {
    let new = args.chosen.of(known.news(store.readable()?), known)?;
    new.iter().try_for_each(|(_, finding)| check_release(finding))?;
    if let Some(folder) = &args.causes {
        return by_cause(folder, &store.readable()?, known);
    }
    let open = if args.yes { open_issues(args)? } else { Vec::new() };
    let mut room = args.cap.saturating_sub(open.len());
    for (name, finding) in &new {
        let evidence = Evidence::new(cases::op(&finding.case)?, &finding.case, &finding.observations);
        let (report, name) = (Report::new(finding, &evidence, known), named(name));
        let (title, body) = (report.title(), format!("{}\n{name}\n", report.body()));
        match open.iter().find(|issue| issue.body.contains(&name)) {
            Some(Issue { number, .. }) => {
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
    Ok(Exit::Clean)
}

/// The line of an issue that says of which finding it is.
fn named(name: &str) -> String {
    format!("Replay: save the case above and run `snuffer replay FILE`. Name: `{name}`.")
}

/// Writes a report for each cause of `findings` into `folder`, and a list of the causes, those first that hit most people.
fn by_cause(folder: &Path, findings: &[(String, Finding)], known: &KnownFailures) -> anyhow::Result<Exit> {
    let by_cause = known.by_cause(findings.iter().map(|(_, finding)| (finding, Sighting::of(finding))));
    let mut list = String::from("| rank | findings | cause | upstream |\n|---|---|---|---|\n");
    let mut written = 0;
    for cause in RootCause::by_impact(&known.causes).into_iter().filter(|cause| cause.note.is_none()) {
        let its = by_cause.get(&Some(cause.name.as_str())).map_or(&[][..], Vec::as_slice);
        let Some(finding) = its.iter().min_by_key(|finding| finding.case.complexity()) else { continue };
        let evidence = Evidence::new(cases::op(&finding.case)?, &finding.case, &finding.observations);
        let (change, places) = (fixed::diff_of(cause)?, candles::places(cause));
        let about = Some(Why { cause, places: &places, change: change.as_deref(), is_asked: true });
        let text = Report { cause: about, ..Report::new(finding, &evidence, known) }.markdown();
        write_atomically(&folder.join(format!("{}.md", cause.name)), text.as_bytes())?;
        let links: Vec<&str> = cause.upstream.iter().map(|link| link.url.as_str()).collect();
        let (rank, title, count, links) = (cause.rank, &cause.title, its.len(), links.join(" "));
        let _ = writeln!(list, "| {rank} | {count} | [{}]({}.md) | {links} |", inline(title), cause.name);
        written += 1;
    }
    write_atomically(&folder.join("README.md"), list.as_bytes())?;
    let rest = by_cause.get(&None).map_or(0, Vec::len);
    println!("{} in {}", console::count(written, "report"), folder.display());
    println!("{} without a known cause; `snuffer causes` lists them", console::count(rest, "finding"));
    Ok(Exit::Clean)
}

/// The open issues with this suite's label.
fn open_issues(args: &Args) -> anyhow::Result<Vec<Issue>> {
    if std::env::var_os("GH_TOKEN").is_none() {
        return Err(UsageError("--yes needs a token in GH_TOKEN".to_string()).into());
    }
    let list = ["issue", "list", "--label", LABEL, "--state", "open", "--limit", "1000", "--json", "number,body"];
    let text = gh(args, &list)?;
    serde_json::from_str(&text).context("cannot read the answer of `gh issue list`")
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
