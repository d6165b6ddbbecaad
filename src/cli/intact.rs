//! Reads the intact entries of a store. Damaged ones are named on standard error, and the command ends with `Harness`, because its answer
//! is incomplete.

use crate::exit_code::Exit;
use crate::store::{Finding, Record, Store};

/// The findings that can be read, the worst first.
pub fn findings(store: &Store, exit: &mut Exit) -> anyhow::Result<Vec<(String, Finding)>> {
    Ok(readable(store.all()?, exit))
}

/// The campaigns whose records can be read, in order of their start.
pub fn campaigns(store: &Store, exit: &mut Exit) -> anyhow::Result<Vec<(String, Record)>> {
    Ok(readable(store.named_records()?, exit))
}

fn readable<T>(all: Vec<(String, anyhow::Result<T>)>, exit: &mut Exit) -> Vec<(String, T)> {
    let readable = |(name, read): (String, anyhow::Result<T>)| match read {
        Ok(one) => Some((name, one)),
        Err(problem) => {
            left_out(&format!("{problem:#}"), exit);
            None
        }
    };
    all.into_iter().filter_map(readable).collect()
}

/// Names what was left out, in a line.
pub fn left_out(problem: &str, exit: &mut Exit) {
    *exit = Exit::Harness;
    tell(problem);
}

/// Names what was left out, where nothing is missing without it.
pub fn tell(problem: &str) {
    eprintln!("left out: {}", problem.lines().next().unwrap_or_default());
}
