//! The table of all crates, in a document. What is there of a crate that was not run now stays.

use std::fmt::Write as _;
use std::fs;

use anyhow::Context;

use super::list::{Listed, What};
use super::{Outcome, Row, some};

const FILE: &str = "docs/programs.md";
const START: &str = "<!-- The table: cargo xtask crates --document -->\n";
const END: &str = "<!-- The end of the table -->\n";

/// Puts the table into the document.
pub fn write(list: &[Listed], rows: &[Row]) -> anyhow::Result<()> {
    let text = fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
    let (before, rest) = text.split_once(START).with_context(|| format!("{FILE} has no `{}`", START.trim()))?;
    let (old, after) = rest.split_once(END).with_context(|| format!("{FILE} has no `{}`", END.trim()))?;
    Ok(fs::write(FILE, format!("{before}{START}\n{}\n{END}{after}", table(list, rows, old)?))?)
}

/// The table, and below it the causes of what fails and of what cannot run. `old` is the one that was there.
fn table(list: &[Listed], rows: &[Row], old: &str) -> anyhow::Result<String> {
    let run: Vec<&Listed> = list.iter().filter(|listed| matches!(listed.what(), Ok(What::Runs(_)))).collect();
    let now = |listed: &Listed| rows.iter().find(|row| row.listed.name == listed.name);
    let kept = |start: String| old.lines().find(|line| line.starts_with(&start)).map(str::to_string);
    let mut text = "| crate | what it is | tests | launch work | pass | fail | unsupported | s |\n\
                    |---|---|---|---|---|---|---|---|\n"
        .to_string();
    for listed in &run {
        let line = now(listed).map(measured).or_else(|| kept(format!("| `{}` ", listed.name)));
        text += &line.with_context(|| format!("{FILE} has no row for {} yet: run it too", listed.name))?;
        text += "\n";
    }
    text += "\nChanges in a copy before it is built:\n\n";
    for listed in &run {
        for edit in &listed.edits {
            let _ = writeln!(text, "- `{}`, `{}`: {}", listed.name, edit.file, edit.why);
        }
    }
    text += "\nReports that are suppressed:\n\n";
    for listed in &run {
        for reason in listed.suppress.iter().filter_map(|entry| entry.get("reason")?.as_str()) {
            let _ = writeln!(text, "- `{}`: {reason}", listed.name);
        }
    }
    text += "\nFailures and their causes:\n\n";
    for listed in list {
        for entry in &listed.known {
            let cause = entry.failure().map_or("", |failure| failure.cause);
            let tests: Vec<String> = entry.tests.iter().map(|test| format!("`{test}`")).collect();
            let tests = match tests.len() {
                0..=3 => tests.join(", "),
                number => format!("{number} tests from {} to {}", tests[0], tests[number - 1]),
            };
            let _ = writeln!(text, "- `{}`, {tests}: {cause}", listed.name);
        }
    }
    text += "\nUnsupported by the device:\n\n";
    for listed in &run {
        let start = format!("- for `{}`: ", listed.name);
        let line = now(listed).map_or_else(|| kept(start.clone()), |row| lacks(row).map(|what| start.clone() + &what));
        text.extend(line.map(|line| line + "\n"));
    }
    text += "\nCrates that cannot run:\n\n";
    for listed in list {
        if let Ok(What::Cannot(why)) = listed.what() {
            let _ = writeln!(text, "- `{}` {}: {why}", listed.name, listed.version);
        }
    }
    Ok(text)
}

/// The row of a crate that was run.
fn measured(row: &Row) -> String {
    let Listed { name, version, about, .. } = row.listed;
    let unsupported = row.count(|test| matches!(test.outcome, Outcome::Unsupported(_)));
    let numbers = [row.finished.len(), row.launching(), row.passed(), row.failed(), unsupported];
    let numbers = numbers.map(|number| number.to_string()).join(" | ");
    format!("| `{name}` {version} | {about} | {numbers} | {:.1} |", row.time().as_secs_f64())
}

/// What the device lacks for a crate, if anything.
fn lacks(row: &Row) -> Option<String> {
    let what = row.unsupported();
    (!what.is_empty()).then(|| some(&what))
}

#[cfg(test)]
mod tests {
    use super::super::outcome::Finished;
    use super::super::{Listed, Row};
    use super::table;

    #[test]
    fn what_was_not_run_now_keeps_its_row() {
        let [one, two] =
            ["one", "two"].map(|name| format!("name = '{name}'\nversion = '1.0.0'\ntask = 'test'\nabout = ''"));
        let list: Vec<Listed> = [one, two].iter().map(|text| toml::from_str(text).expect("valid")).collect();
        let rows = [Row::compare(&list[0], vec![Finished::passed("a")]).expect("comparable")];
        assert!(table(&list, &rows, "").is_err_and(|error| error.to_string().contains("no row for two")));
        let old = "| `one` old |\n| `two` kept |\n- for `one`: old\n- for `two`: kept\n";
        let new = table(&list, &rows, old).expect("a table");
        assert!(new.contains("| `one` 1.0.0 |  | 1 | 0 | 1 | 0 | 0 | 0.0 |\n| `two` kept |\n"), "{new}");
        assert!(new.contains("\n\n- for `two`: kept\n\n"), "{new}");
    }
}
