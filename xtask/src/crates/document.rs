//! The table of all crates, in a document.

use std::fmt::Write as _;
use std::fs;

use anyhow::Context;

use super::list::What;
use super::{Outcome, Row, some};

const FILE: &str = "docs/programs.md";
const START: &str = "<!-- The table: cargo xtask crates --document -->\n";
const END: &str = "<!-- The end of the table -->\n";

/// Puts the table into the document.
pub fn write(rows: &[Row]) -> anyhow::Result<()> {
    let text = fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
    let (before, rest) = text.split_once(START).with_context(|| format!("{FILE} has no `{}`", START.trim()))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("{FILE} has no `{}`", END.trim()))?;
    Ok(fs::write(FILE, format!("{before}{START}\n{}\n{END}{after}", table(rows)))?)
}

/// The table, and below it the causes of what fails and of what cannot run.
fn table(rows: &[Row]) -> String {
    let is_run = |row: &&Row| matches!(row.listed.what(), Ok(What::Runs(_)));
    let mut text = "| crate | what it is | tests | launch kernels | pass | fail | unsupported | s |\n\
                    |---|---|---|---|---|---|---|---|\n"
        .to_string();
    for row in rows.iter().filter(is_run) {
        let unsupported = row.count(|test| matches!(test.outcome, Outcome::Unsupported(_)));
        let numbers = [row.finished.len(), row.launched(), row.passed(), row.failed(), unsupported];
        let numbers = numbers.map(|number| number.to_string()).join(" | ");
        let seconds = row.time().as_secs_f64();
        let _ = writeln!(
            text,
            "| `{}` {} | {} | {numbers} | {seconds:.1} |",
            row.listed.name, row.listed.version, row.listed.about
        );
    }
    text += "\nHow each is run:\n\n";
    for row in rows.iter().filter(is_run) {
        let _ = writeln!(text, "- `{}`: `{}`", row.listed.name, row.listed.command());
    }
    text += "\nWhat fails, and why:\n\n";
    for row in rows {
        for entry in &row.listed.known {
            let cause = entry.failure().map_or("", |failure| failure.cause);
            let tests: Vec<String> = entry.tests.iter().map(|test| format!("`{test}`")).collect();
            let tests = match tests.len() {
                0..=3 => tests.join(", "),
                number => format!("{number} tests from {} to {}", tests[0], tests[number - 1]),
            };
            let _ = writeln!(text, "- `{}`, {tests}: {cause}", row.listed.name);
        }
    }
    text += "\nWhat the device lacks for them: ";
    let lacks: Vec<String> = rows.iter().filter(|row| !row.unsupported().is_empty()).map(lacks).collect();
    text += &if lacks.is_empty() { "nothing".to_string() } else { lacks.join("; ") };
    text += ".\n\nWhat cannot run at all:\n\n";
    for row in rows {
        if let Ok(What::Cannot(why)) = row.listed.what() {
            let _ = writeln!(text, "- `{}` {}: {why}", row.listed.name, row.listed.version);
        }
    }
    text
}

/// What the device lacks for a crate.
fn lacks(row: &Row) -> String {
    format!("for `{}`: {}", row.listed.name, some(&row.unsupported()))
}
