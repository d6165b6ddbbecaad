//! `snuffer triage`: walks the new findings, and asks of each what is to become of it.

use std::io::{BufRead, Write, stdin, stdout};

use super::findings::{news, show};
use super::{KnownArg, StoreArg, UsageError, issues, promote};
use crate::exit_code::Exit;
use crate::store::Finding;
use crate::store::regression::{Regression, Status};

/// Arguments of `snuffer triage`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    store: StoreArg,
    #[command(flatten)]
    known: KnownArg,
}

/// What is asked of a finding.
const CHOICES: &str = "[k]eep as a regression, [f]ile on paper, [m]ute, [s]kip, [q]uit? ";

/// Asks until every new finding has been seen. `Findings` where some are left as they were.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let store = args.store.existing()?;
    let new = news(&store, &args.known.read()?)?;
    let (mut left, to) = (new.len(), args.known.folder());
    println!("{} new findings", new.len());
    for (number, (name, finding)) in new.iter().enumerate() {
        println!("\n== {} of {}: {name}\n", number + 1, new.len());
        show(finding)?;
        loop {
            let regression = match ask(CHOICES)?.as_deref() {
                Some("k") => Some(promoted(finding)?),
                Some("f") => filed(name, finding)?,
                Some("m") => muted(finding)?,
                Some("s") => None,
                Some("q") | None => return Ok(end(left)),
                Some(_) => continue,
            };
            let Some(regression) = regression else { break };
            match promote::keep(&regression, &to) {
                Ok(path) => {
                    println!("{}: {}", regression.status, path.display());
                    left -= 1;
                    break;
                }
                // Another regression has this title: ask again.
                Err(problem) if problem.is::<UsageError>() => println!("{problem}"),
                Err(problem) => return Err(problem),
            }
        }
    }
    Ok(end(left))
}

fn end(left: usize) -> Exit {
    println!("{left} new findings left");
    if left == 0 { Exit::Clean } else { Exit::Findings }
}

/// The finding as an open regression, under a title that you type, or else its signature.
fn promoted(finding: &Finding) -> anyhow::Result<Regression> {
    let regression = Regression::of(finding);
    let title = ask(&format!("title [{}]: ", regression.title))?.filter(|title| !title.is_empty());
    Ok(Regression { title: title.unwrap_or_else(|| regression.title.clone()), ..regression })
}

/// Shows the issue; once somebody has filed it, its link makes the finding a filed one.
fn filed(name: &str, finding: &Finding) -> anyhow::Result<Option<Regression>> {
    println!("\n# {}\n\n{}", finding.signature, issues::body(name, finding)?);
    println!("`snuffer report {name}` writes it with a program that shows it.");
    let link = ask("link, once it is filed (or nothing): ")?.filter(|link| !link.is_empty());
    let Some(link) = link else { return Ok(None) };
    Ok(Some(Regression { status: Status::Filed, upstream: Some(link), ..promoted(finding)? }))
}

/// The finding as one that nobody is to be told of, if there is a reason for it.
fn muted(finding: &Finding) -> anyhow::Result<Option<Regression>> {
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
    Ok(Some(Regression { status, reason: Some(reason), ..promoted(finding)? }))
}

/// One line of what a person types; none at the end of the input.
fn ask(question: &str) -> anyhow::Result<Option<String>> {
    print!("{question}");
    stdout().flush()?;
    let mut line = String::new();
    Ok((stdin().lock().read_line(&mut line)? > 0).then(|| line.trim().to_string()))
}
