//! Reads reports from text: the driver's assertions, and the reports of `compute-sanitizer`, whose form the simulated device uses
//! too.

use super::{ASSERT, FAILED, Report, Severity};

/// The reports in what a device printed, in order.
pub fn reports(printed: &str) -> Vec<Report> {
    let mut found: Vec<Vec<&str>> = Vec::new();
    // Details belong to the line before them.
    let mut open = false;
    for line in printed.lines() {
        match line.strip_prefix(DETAIL) {
            Some(detail) => found.last_mut().filter(|_| open).into_iter().for_each(|lines| lines.push(detail.trim())),
            None => {
                open = begins_report(line);
                found.extend(open.then(|| vec![line]));
            }
        }
    }
    found.iter().filter_map(|lines| from_lines(lines)).collect()
}

/// What the second and further lines of a printed report begin with.
const DETAIL: &str = "=========     ";

/// What the first line of a printed report begins with.
const TITLE: &str = "========= ";

/// What the simulated device prints in one line.
const LINES: [(&str, Severity); 3] = [
    ("snuffer-sim: unsupported: ", Severity::Unsupported),
    ("snuffer-sim: fact: ", Severity::Fact),
    ("snuffer-sim: asked to fail: ", Severity::Injected),
];

fn begins_report(line: &str) -> bool {
    // The tool's own banner, summary and empty lines are none.
    let title = line.strip_prefix(TITLE).filter(|title| !title.starts_with("COMPUTE") && !title.trim().is_empty());
    title.is_some() || is_assertion(line) || LINES.iter().any(|(start, _)| line.starts_with(start))
}

fn is_assertion(line: &str) -> bool {
    line.contains(": block: [") && line.ends_with(FAILED)
}

/// The report of a first line and its details. A title without details is none.
fn from_lines(lines: &[&str]) -> Option<Report> {
    if let Some((message, severity)) =
        LINES.iter().find_map(|&(start, severity)| Some((lines[0].strip_prefix(start)?, severity)))
    {
        return Some(Report { severity, message: message.to_string(), ..Report::default() });
    }
    if is_assertion(lines[0]) {
        return Some(Report { kind: ASSERT.to_string(), message: lines.join("; "), ..Report::default() });
    }
    let title = lines[0].strip_prefix(TITLE).filter(|_| lines.len() > 1)?;
    let at = lines[1..].iter().find_map(|line| line.strip_prefix("at ")).unwrap_or_default();
    let source = at.rsplit_once(" in ").and_then(|(_, place)| place.rsplit_once(':'));
    let (kind, severity) = kind(title);
    Some(Report {
        severity,
        kind: kind.to_string(),
        kernel: at.split('(').next().unwrap_or(at).to_string(),
        file: source.map(|(file, _)| file.to_string()),
        line: source.and_then(|(_, line)| line.parse().ok()),
        message: [&[title], &lines[1..]].concat().join("; "),
    })
}

/// The checker that a printed report comes from, by its title. The words are those of `compute-sanitizer`'s tools where it has
/// the check.
fn kind(title: &str) -> (&'static str, Severity) {
    const TITLES: [(&str, &str); 6] = [
        ("Uninitialized", "uninitialized read"),
        ("Race reported", "race"),
        ("Error: Race reported", "race"),
        ("Barrier error", "barrier"),
        ("Stream order", "stream race"),
        ("Outside the view", "out of view"),
    ];
    let found = TITLES.iter().find(|(start, _)| title.starts_with(start));
    found.map_or(("fault", Severity::Fault), |(_, kind)| (kind, Severity::Report))
}
