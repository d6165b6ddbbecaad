//! Reads reports from text: the driver's assertions, and the reports of `compute-sanitizer`, whose form the simulated device uses
//! too.

use device_record::{Assertion, DETAIL, Kind, Place, Severity, Source, TITLE};

use super::Report;

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

/// What the simulated device prints in one line: the kind and the text.
fn one_line(line: &str) -> Option<(Severity, &str)> {
    let severities = [Severity::Unsupported, Severity::Fact, Severity::Injected];
    severities.into_iter().find_map(|severity| Some((severity, line.strip_prefix(severity.mark()?)?)))
}

fn begins_report(line: &str) -> bool {
    // The tool's own banner, summary and empty lines are none.
    let title = line.strip_prefix(TITLE).filter(|title| !title.starts_with("COMPUTE") && !title.trim().is_empty());
    title.is_some() || one_line(line).is_some() || Assertion::parse(line).is_some()
}

/// The report of a first line and its details. A title without details is none.
fn from_lines(lines: &[&str]) -> Option<Report> {
    let place = Place::default();
    let said = |first: &str| [&[first], &lines[1..]].concat().into_iter().map(str::to_string).collect();
    if let Some((severity, message)) = one_line(lines[0]) {
        return Some(Report { severity, kind: None, place, assertion: None, lines: vec![message.to_string()] });
    }
    if let Some(assertion) = Assertion::parse(lines[0]) {
        let (kind, assertion) = (Some(Kind::Assert), Some(assertion));
        return Some(Report { severity: Severity::Fault, kind, place, assertion, lines: said(lines[0]) });
    }
    let title = lines[0].strip_prefix(TITLE).filter(|_| lines.len() > 1)?;
    let at = lines[1..].iter().find_map(|line| line.strip_prefix("at ")).unwrap_or_default();
    let source = at.rsplit_once(" in ").and_then(|(_, place)| place.rsplit_once(':'));
    let source = source.and_then(|(file, line)| Some(Source { file: file.to_string(), line: line.parse().ok()? }));
    let place = Place { kernel: at.split('(').next().unwrap_or(at).to_string(), source, ptx: None };
    let kind = Kind::of_title(title);
    let severity = kind.map_or(Severity::Fault, Kind::severity);
    Some(Report { severity, kind, place, assertion: None, lines: said(title) })
}
