//! `cargo xtask host-mutants`: the worker for `snuffer lab score --host`. It has a copy of candle's crates in which every mutant of the
//! host code is compiled in, each behind a switch that a process reads at its start: all mutants cost one build.
//!
//! Candle's sources are copied and changed below `target` only.

mod compile;
mod find;
mod operators;
mod purpose;
mod site;
mod source;
#[cfg(test)]
mod tests;
mod weave;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::json;

use self::source::{Source, Weaving};
use crate::set_up::{self, Devices};
use crate::shell::{say, target};

/// How many times changes that do not compile are left out, at most.
const ROUNDS: usize = 40;

/// Arguments of `cargo xtask host-mutants`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    devices: Devices,
}

/// Copies, changes and builds, and writes the list of mutants.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let target = target()?;
    let folder = target.join("host-mutants");
    let list = folder.join("mutants.json");
    // The numbers of the list are those of the worker. If this run fails, neither must be left from an earlier one.
    for old in [&list, &target.join("debug/snuffer-worker-mutated")].into_iter().filter(|old| old.exists()) {
        fs::remove_file(old).with_context(|| format!("cannot remove {}", old.display()))?;
    }
    let toolkit = if args.devices.can_have_cuda() { Some(set_up::toolkit()?) } else { None };
    let sources = source::read(toolkit.is_some())?;
    let found: usize = sources.iter().map(|source| source.sites.len()).sum();
    let remembered = folder.join("left-out.txt");
    let mut left_out: BTreeSet<String> =
        fs::read_to_string(&remembered).unwrap_or_default().lines().map(ToString::to_string).collect();
    let mut weaving = Weaving::new(&sources, &left_out);
    compile::prepare(&folder)?;
    weaving.write(&folder)?;
    for round in 0.. {
        ensure!(round < ROUNDS, "after {ROUNDS} rounds some changes still do not compile");
        let errors = compile::build(&folder, toolkit.as_ref())?;
        if errors.is_empty() {
            break;
        }
        let before = left_out.len();
        left_out.extend(errors.iter().filter_map(|error| weaving.blamed(&folder, error)));
        let refused = left_out.len() - before;
        ensure!(refused > 0, "no change explains this error: {}", errors[0].rendered);
        say(&format!("{refused} changes do not compile and are left out"));
        fs::write(&remembered, left_out.iter().cloned().collect::<Vec<_>>().join("\n"))?;
        weaving = Weaving::new(&sources, &left_out);
        weaving.write(&folder)?;
    }
    write(&list, &weaving)?;
    say(&format!(
        "{} mutants, {} of {found} changes do not compile; in {}",
        weaving.count(),
        found - weaving.count(),
        list.display()
    ));
    Ok(0)
}

/// Writes the list of mutants, by number.
fn write(list: &Path, weaving: &Weaving<'_>) -> anyhow::Result<()> {
    let mutants: Vec<_> = weaving
        .mutants()
        .map(|(Source { place, text, .. }, site)| {
            let before = site.before(text);
            let after = site.form.changed(&before);
            json!({ "change": site.change, "file": place, "line": site.line, "function": site.function, "before": before, "after": after })
        })
        .collect();
    let text = serde_json::to_string(&json!({ "mutants": mutants }))?;
    fs::write(list, text).with_context(|| format!("cannot write {}", list.display()))
}
