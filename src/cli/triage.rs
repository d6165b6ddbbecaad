//! `snuffer triage`: walks the new findings and asks what to do with each.

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
    known: KnownArg,
}

/// The question for each finding.
const CHOICES: &str = "[k]eep as a regression, [f]ile an issue, [m]ute, [s]kip, [q]uit? ";

/// Asks about every new finding. Exits with `Findings` if some stay new.
pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    let store = store.existing()?;
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

/// The finding as an open regression. The user types its title; the default is its signature.
fn promoted(finding: &Finding) -> anyhow::Result<Regression> {
    let regression = Regression::of(finding);
    let title = ask(&format!("title [{}]: ", regression.title))?.filter(|title| !title.is_empty());
    Ok(Regression { title: title.unwrap_or_else(|| regression.title.clone()), ..regression })
}

/// Prints the issue. With the link of the filed issue, the finding becomes a filed regression.
fn filed(name: &str, finding: &Finding) -> anyhow::Result<Option<Regression>> {
    println!("\n# {}\n\n{}", finding.signature, issues::body(name, finding)?);
    println!("`snuffer report {name}` adds a program that reproduces it.");
    let link = ask("link, if you filed it (or nothing): ")?.filter(|link| !link.is_empty());
    let Some(link) = link else { return Ok(None) };
    Ok(Some(Regression { status: Status::Filed, upstream: Some(link), ..promoted(finding)? }))
}

/// The finding as a muted regression, if the user gives a reason.
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

/// One line from the terminal; none at the end of the input.
fn ask(question: &str) -> anyhow::Result<Option<String>> {
    print!("{question}");
    stdout().flush()?;
    let mut line = String::new();
    Ok((stdin().lock().read_line(&mut line)? > 0).then(|| line.trim().to_string()))
}
