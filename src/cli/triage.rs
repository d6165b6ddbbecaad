//! `snuffer triage`: walks the groups of new findings, the worst first, and asks what to do with each.

use std::cmp::Reverse;
use std::io::{BufRead, Write, stdin, stdout};
use std::path::{Path, PathBuf};

use super::findings::show;
use super::{ChosenFindings, KnownArg, StoreArg, UsageError, cases, check_release, promote};
use crate::causes::KnownFailures;
use crate::console::{self, Shell};
use crate::exit_code::Exit;
use crate::oracle::{Evidence, Rank};
use crate::report::{Report, sentence};
use crate::store::regression::{self, Regression, Status, is_link};
use crate::store::{Finding, id};

/// Arguments of `snuffer triage`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    chosen: ChosenFindings,
    #[command(flatten)]
    known: KnownArg,
}

/// The question for each group.
const CHOICES: &str = "[k]eep as a regression, [f]ile an issue, [m]ute, [e]ach alone, [s]kip, [u]ndo, [q]uit? ";

/// A finding and its name.
type Named = (String, Finding);

/// Findings that likely have one cause, the worst first, and the cause if there are several.
struct Group<'a> {
    cause: Option<String>,
    findings: Vec<&'a Named>,
}

/// A decision about all findings of a group.
struct Decision {
    status: Status,
    /// Without one, each has its signature as title.
    title: Option<String>,
    upstream: Option<String>,
    reason: Option<String>,
}

/// A group that was passed, and what was written for it.
struct Step {
    group: usize,
    written: Vec<PathBuf>,
}

/// An answer about a group.
enum Answer {
    Decided(Decision),
    Each,
    Skip,
    Undo,
    Quit,
}

/// Asks about every group of new findings. Exits with `Findings` if some stay new.
pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    let known = args.known.failures()?;
    let new = args.chosen.of(known.news(store.existing()?.readable()?), &known)?;
    new.iter().try_for_each(|(_, finding)| check_release(finding))?;
    let (mut groups, to, shell) = (groups(&new, &known), args.known.folder(), store.shell());
    println!("{} in {}", console::count(new.len(), "new finding"), console::count(groups.len(), "group"));
    let (mut done, mut at): (Vec<Step>, usize) = (Vec::new(), 0);
    while let Some(group) = groups.get(at) {
        println!("\n== group {} of {}\n", at + 1, groups.len());
        group.show(&known, &shell)?;
        match group.answer(&known)? {
            Answer::Quit => break,
            Answer::Each => {
                let alone = group.findings.iter().map(|&one| Group { cause: None, findings: vec![one] });
                let alone: Vec<Group> = alone.collect();
                groups.splice(at..=at, alone);
            }
            Answer::Undo => match done.pop() {
                Some(Step { group, written }) => {
                    written.iter().try_for_each(|path| regression::forget(path))?;
                    println!("undone: {} taken back", console::count(written.len(), "regression"));
                    at = group;
                }
                None => println!("there is nothing to undo"),
            },
            Answer::Skip => {
                done.push(Step { group: at, written: Vec::new() });
                at += 1;
            }
            Answer::Decided(decision) => {
                done.push(Step { group: at, written: decision.keep(group, &to)? });
                at += 1;
            }
        }
    }
    let left = new.len() - done.iter().map(|step| step.written.len()).sum::<usize>();
    println!("{} left", console::count(left, "new finding"));
    Ok(Exit::Clean)
}

/// The findings by likely cause, the group with the worst finding first, and of those the largest. A finding without a known
/// cause is a group of its own.
fn groups<'a>(findings: &'a [Named], known: &KnownFailures) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut left: Vec<&Named> = findings.iter().collect();
    for (cause, names) in known.similar(findings) {
        let (own, rest) = left.into_iter().partition(|(name, _)| names.contains(&name.as_str()));
        groups.push(Group { cause: Some(cause), findings: own });
        left = rest;
    }
    groups.extend(left.into_iter().map(|one| Group { cause: None, findings: vec![one] }));
    groups.sort_by_key(|group| (group.rank(), Reverse(group.findings.len())));
    groups
}

impl Group<'_> {
    fn rank(&self) -> Rank {
        self.findings.iter().map(|(_, finding)| finding.signature.rank()).min().unwrap_or(Rank::Cost)
    }

    /// Shows the worst finding, and names the others.
    fn show(&self, known: &KnownFailures, shell: &Shell) -> anyhow::Result<()> {
        let [(name, finding), others @ ..] = &self.findings[..] else { return Ok(()) };
        let what = self.cause.clone().unwrap_or_else(|| sentence(&finding.signature));
        println!("{}", console::headed(self.rank(), &what));
        println!("{name}\n");
        show(&id(name), finding, known, shell)?;
        if !others.is_empty() {
            println!("\nlikely the same cause:");
            for (name, _) in others {
                println!("    {name}");
            }
        }
        Ok(())
    }

    fn answer(&self, known: &KnownFailures) -> anyhow::Result<Answer> {
        loop {
            let decision = match ask(CHOICES)?.as_deref() {
                Some("k") => Some(Decision { title: title()?, ..Decision::open() }),
                Some("f") => self.filed(known)?,
                Some("m") => muted()?,
                Some("s") => None,
                Some("e") => return Ok(Answer::Each),
                Some("u") => return Ok(Answer::Undo),
                Some("q") | None => return Ok(Answer::Quit),
                Some(_) => continue,
            };
            return Ok(decision.map_or(Answer::Skip, Answer::Decided));
        }
    }

    /// Prints the issue of the worst finding. With the link of the filed issue, the findings become filed regressions.
    fn filed(&self, known: &KnownFailures) -> anyhow::Result<Option<Decision>> {
        let [(name, finding), ..] = &self.findings[..] else { return Ok(None) };
        let evidence = Evidence::new(cases::op(&finding.case)?, &finding.case, &finding.observations);
        println!("\n{}", Report::new(finding, &evidence, known).markdown());
        println!("`snuffer report {name}` adds a program that reproduces it.");
        loop {
            match ask("link, if you filed it (or nothing): ")?.filter(|link| !link.is_empty()) {
                None => return Ok(None),
                Some(link) if is_link(&link) => {
                    let title = title()?;
                    return Ok(Some(Decision { status: Status::Filed, upstream: Some(link), title, reason: None }));
                }
                Some(link) => println!("`{link}` is not a link; paste one that begins with https://"),
            }
        }
    }
}

impl Decision {
    fn open() -> Self {
        Self { status: Status::Open, title: None, upstream: None, reason: None }
    }

    /// Writes a regression of each finding of `group` into the folder `to`, and returns their paths.
    fn keep(&self, group: &Group, to: &Path) -> anyhow::Result<Vec<PathBuf>> {
        let mut written = Vec::new();
        for (name, finding) in &group.findings {
            let (status, upstream, reason) = (self.status, self.upstream.clone(), self.reason.clone());
            let mut kept = Regression { status, upstream, reason, ..Regression::of(finding) };
            kept.title = self.title.clone().unwrap_or(kept.title);
            loop {
                match promote::keep(&kept, to) {
                    Ok(path) => {
                        println!("{status}: {}", path.display());
                        written.push(path);
                        break;
                    }
                    // Another regression has this title.
                    Err(problem) if problem.is::<UsageError>() => {
                        println!("{problem}");
                        let another = ask(&format!("title of {name} (or nothing, and it stays new): "))?;
                        let Some(another) = another.filter(|title| !title.is_empty()) else { break };
                        kept.title = another;
                    }
                    Err(problem) => return Err(problem),
                }
            }
        }
        Ok(written)
    }
}

/// The decision to mute, if the user gives a reason.
fn muted() -> anyhow::Result<Option<Decision>> {
    let status = loop {
        match ask("by-design, flaky or wontfix? ")?.as_deref().map(str::parse) {
            Some(Ok(status @ (Status::ByDesign | Status::Flaky | Status::Wontfix))) => break status,
            None => return Ok(None),
            Some(_) => {}
        }
    };
    let Some(reason) = ask("why: ")?.filter(|reason| !reason.is_empty()) else {
        println!("without a reason it stays new");
        return Ok(None);
    };
    Ok(Some(Decision { status, reason: Some(reason), title: title()?, upstream: None }))
}

/// The title that the user types, if any.
fn title() -> anyhow::Result<Option<String>> {
    Ok(ask("title (or nothing, for the signature): ")?.filter(|title| !title.is_empty()))
}

/// One line from the terminal; none at the end of the input.
fn ask(question: &str) -> anyhow::Result<Option<String>> {
    print!("{question}");
    stdout().flush()?;
    let mut line = String::new();
    Ok((stdin().lock().read_line(&mut line)? > 0).then(|| line.trim().to_string()))
}
