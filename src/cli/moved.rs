//! `snuffer moved`: what another release of candle means for the contracts of this suite.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use semver::Version;

use crate::CANDLE;
use crate::candles::{Became, Sources, became, citations, crates, dtypes, files, public_functions};
use crate::exit_code::Exit;

/// Arguments of `snuffer moved`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The release.
    version: Version,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let [base, head] =
        [CANDLE.to_string(), args.version.to_string()].map(|version| Sources::of(&crates(&version)?, true));
    let (base, head) = (base?, head?);
    cited(&base, &head)?;
    named("function", &public_functions(&base), &public_functions(&head));
    named("dtype", &dtypes(&base), &dtypes(&head));
    Ok(Exit::Clean)
}

/// Prints what became of the places in candle's sources that the project's sources cite.
fn cited(base: &Sources, head: &Sources) -> anyhow::Result<()> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in files(&project.join("src"))?.into_iter().filter(|path| path.extension().is_some_and(|it| it == "rs")) {
        let by = path.strip_prefix(project)?.display().to_string();
        for citation in citations(&by, &std::fs::read_to_string(&path)?) {
            let (word, what) = match became(&citation, base, head) {
                None => ("nowhere", format!("candle {CANDLE} does not have it")),
                Some(Became::Same) => ("same", String::new()),
                Some(Became::Moved(line)) => ("moved", format!("line {line} has the same code")),
                Some(Became::Changed(name)) => ("changed", format!("`{name}` has other code; read it again")),
                Some(Became::Gone) => ("gone", "find what replaced it".to_string()),
            };
            *counts.entry(word).or_default() += 1;
            if word != "same" {
                println!("{word:<9} {}:{}, cited in {}: {what}", citation.file, citation.line, citation.by);
            }
        }
    }
    let counts: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    println!("cited     places in candle's sources: {}", counts.join(", "));
    Ok(())
}

/// Prints the names that only one of two releases has.
fn named(what: &str, base: &BTreeSet<String>, head: &BTreeSet<String>) {
    head.difference(base).for_each(|name| println!("new       {what} {name}"));
    base.difference(head).for_each(|name| println!("removed   {what} {name}"));
}
