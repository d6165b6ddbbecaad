//! The result as Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::measured::{Measured, Row, Wrong};

/// A heading and a table by class, one by size and one by kind of report, and what was judged wrongly: of one detector or of several.
pub fn markdown(results: &[Measured]) -> String {
    let mut text = table("class", results, |measured| &measured.classes);
    text += &table("size", results, |measured| &measured.sizes);
    for measured in results {
        text += &precision(measured);
        text += &list("Missed", measured, &measured.missed);
        text += &list("False reports", measured, &measured.falsely_reported);
        text += &not_run(measured);
    }
    text
}

/// A row for each class or size, with columns for each detector.
fn table(of: &str, results: &[Measured], rows: fn(&Measured) -> &Vec<Row>) -> String {
    let has_costs = results.iter().flat_map(rows).any(|row| row.unchecked_seconds.is_some());
    let columns = |measured: &Measured| {
        let costs = if has_costs { " s without checks | times |" } else { "" };
        format!(" {0}: found | recall | false reports | s |{costs}", measured.detector)
    };
    let mut text = format!("| {of} | runs |");
    text.extend(results.iter().map(columns));
    let dashes = "---:|".repeat(text.matches('|').count() - 2);
    let _ = write!(text, "\n|---|{dashes}\n");
    let total: Vec<Row> = results.iter().map(|measured| total(rows(measured))).collect();
    // Each detector has the runs of the first one, unless some could not be run.
    let mut names: Vec<&String> = Vec::new();
    for row in results.iter().flat_map(rows) {
        if !names.contains(&&row.of) {
            names.push(&row.of);
        }
    }
    for name in names {
        let of_each = results.iter().map(|measured| rows(measured).iter().find(|row| row.of == *name));
        text += &line(name, &of_each.collect::<Vec<_>>(), has_costs);
    }
    text += &line("all", &total.iter().map(Some).collect::<Vec<_>>(), has_costs);
    text + "\n"
}

fn total(rows: &[Row]) -> Row {
    rows.iter().fold(Row::default(), |sum, row| Row {
        of: String::new(),
        runs: sum.runs + row.runs,
        with_error: sum.with_error + row.with_error,
        found: sum.found + row.found,
        falsely_reported: sum.falsely_reported + row.falsely_reported,
        seconds: sum.seconds + row.seconds,
        unchecked_seconds: row.unchecked_seconds.map(|seconds| sum.unchecked_seconds.unwrap_or(0.0) + seconds),
    })
}

fn line(name: &str, of_each: &[Option<&Row>], has_costs: bool) -> String {
    let runs = of_each.iter().flatten().map(|row| row.runs).max().unwrap_or(0);
    let mut text = format!("| {name} | {runs} |");
    for row in of_each {
        let Row { with_error, found, falsely_reported, seconds, unchecked_seconds, .. } =
            row.cloned().unwrap_or_default();
        let found = if with_error == 0 { "–".to_string() } else { format!("{found} of {with_error}") };
        let recall = share(row.map_or(0, |row| row.found), with_error);
        let _ = write!(text, " {found} | {recall} | {falsely_reported} | {seconds:.1} |");
        if has_costs {
            let unchecked = unchecked_seconds.unwrap_or(0.0);
            let times = if unchecked > 0.0 { format!("{:.2}", seconds / unchecked) } else { "–".to_string() };
            let _ = write!(text, " {unchecked:.1} | {times} |");
        }
    }
    text + "\n"
}

/// A part of a whole in percent, cut to a tenth: only all is 100 %.
fn share(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "–".to_string();
    }
    let thousandths = part * 1000 / whole;
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}

fn precision(measured: &Measured) -> String {
    let detector = measured.detector;
    let mut text = format!("| {detector} reports | in runs | of which right | precision |\n|---|---:|---:|---:|\n");
    for row in &measured.kinds {
        let share = share(row.right, row.reported);
        let _ = writeln!(text, "| {} | {} | {} | {share} |", row.kind, row.reported, row.right);
    }
    text + "\n"
}

/// The runs that were judged wrongly, in groups of the same program and error.
fn list(title: &str, measured: &Measured, wrong: &[Wrong]) -> String {
    let mut groups: BTreeMap<_, Vec<&Wrong>> = BTreeMap::new();
    for one in wrong {
        groups.entry((one.class, &one.template, &one.bug, &one.reported)).or_default().push(one);
    }
    let mut text = format!("{title} by {}: {}\n", measured.detector, wrong.len());
    for ((class, template, bug, reported), runs) in groups {
        let unnamed = String::new();
        let [template, bug] = [template, bug].map(|name| name.as_ref().unwrap_or(&unnamed));
        let reported = if reported.is_empty() { "nothing".to_string() } else { reported.join(", ") };
        let _ = writeln!(text, "- {} in {template} {bug}: {} with {reported}", class.name(), counted(runs.len()));
        for one in runs {
            let _ = writeln!(text, "  {}", one.replay);
        }
    }
    text + "\n"
}

fn not_run(measured: &Measured) -> String {
    if measured.not_run.is_empty() {
        return String::new();
    }
    let mut text = format!("Not judged by {}: {}\n", measured.detector, counted(measured.not_run.len()));
    for one in &measured.not_run {
        let _ = writeln!(text, "- {}\n  {}", one.why, one.replay);
    }
    text + "\n"
}

fn counted(count: usize) -> String {
    if count == 1 { "1 run".to_string() } else { format!("{count} runs") }
}
