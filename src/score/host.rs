//! The list of mutants of candle's host code, which `cargo xtask host-mutants` writes.

use anyhow::Context;
use serde::Deserialize;

use super::trace::{Change, Changes};
use crate::exec::environment::{BUILD_MUTATED, host_mutants};

#[derive(Deserialize)]
struct List {
    /// By number.
    mutants: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    /// The change in words.
    change: String,
    file: String,
    line: usize,
    /// The function, with its type if it is a method.
    function: String,
    /// The code that is there.
    before: String,
    /// The code that the mutant has.
    after: String,
}

/// All mutants, by the file and name of their function.
pub fn changes() -> anyhow::Result<Changes> {
    let path = host_mutants()?;
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let list: List = serde_json::from_str(&text)
        .with_context(|| format!("{} is not a list of mutants; create it with `{BUILD_MUTATED}`", path.display()))?;
    let mut changes = Changes::new();
    for (mark, Listed { change, file, line, function, before, after }) in list.mutants.into_iter().enumerate() {
        changes.entry(format!("{file} {function}")).or_default().push(Change {
            what: change,
            place: format!("{file}:{line}"),
            mark,
            effect: None,
            code: Some(format!("{} → {}", short(&before), short(&after))),
            equivalent: false,
            further_round: false,
        });
    }
    Ok(changes)
}

/// Code as a line that fits a table.
fn short(code: &str) -> String {
    const LONGEST: usize = 60;
    if code.chars().count() <= LONGEST {
        return code.to_string();
    }
    code.chars().take(LONGEST - 1).chain(['…']).collect()
}
