//! `snuffer lab moved`: what another release of candle means for this suite.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use semver::Version;

use crate::CANDLE;
use crate::candles::{Became, Sources, became, citations, crates, dtypes, files, public_functions};
use crate::cli::{CandleArg, Common, present};
use crate::console;
use crate::device::Device;
use crate::exec::WorkerSpec;
use crate::exit_code::Exit;
use crate::matrix::{self, Row};
use crate::ops::{self, Op};
use crate::tensor::DType;

/// Arguments of `snuffer lab moved`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The release.
    version: Version,
    #[command(flatten)]
    common: Common,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let version = args.version.to_string();
    let sources = |version: &str| Sources::of(&crates(version)?, true);
    let (base, head) = (sources(CANDLE)?, sources(&version)?);
    cited(&base, &head)?;
    named("function", &public_functions(&base), &public_functions(&head));
    named("dtype", &dtypes(&base), &dtypes(&head));
    let devices = args.common.devices()?;
    let spec = CandleArg { named: Some(version) }.apply(&devices, args.common.spec())?;
    let ops = present(ops::ALL.to_vec(), &[], spec.candle.as_deref())?;
    let measure = |spec: &WorkerSpec| measured(&ops, &devices, spec);
    supported(&measure(&args.common.spec())?, &measure(&spec)?);
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
                Some(Became::Changed(name)) => ("changed", format!("`{name}` has changed; reread it")),
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

/// What each op does in each dtype.
fn measured(ops: &[&'static Op], devices: &[Device], spec: &WorkerSpec) -> anyhow::Result<Vec<Row>> {
    let bar = console::bar(ops.len());
    let mut rows = matrix::measure(ops, devices, spec, &bar)?;
    rows.sort_by_key(|row| (row.op, row.device.to_string()));
    Ok(rows)
}

/// Prints the dtypes of ops that do something else than before.
fn supported(base: &[Row], head: &[Row]) {
    for (before, after) in base.iter().zip(head) {
        let letters = |dtype: &DType| [before.letter(*dtype), after.letter(*dtype)];
        let differ = DType::ALL.into_iter().filter(|dtype| letters(dtype)[0] != letters(dtype)[1]);
        let differ: Vec<String> = differ
            .map(|dtype| {
                let [before, after] = letters(&dtype);
                format!("{dtype} {before} → {after}")
            })
            .collect();
        if !differ.is_empty() {
            println!("dtypes    {} on {}: {}", before.op, before.device, differ.join(", "));
        }
    }
    println!("dtypes    letters are those of `snuffer ops --matrix`");
}
