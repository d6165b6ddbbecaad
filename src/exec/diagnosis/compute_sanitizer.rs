//! Reads the text of `compute-sanitizer` (version 2026.4, whose manual shows the forms; 2025.2 prints the same).
//!
//! The text shares a file with whatever else a worker prints, and its end may be missing. So a report counts only if its lines
//! are whole, follow each other, and say everything that its place and its kind depend on. Reports that are not whole are
//! counted: [`Reports::from_sanitizer`](super::Reports::from_sanitizer) makes a fact of them.

use device_record::{DETAIL, Kind, Place, Severity, Source};

use super::Report;

/// What each of the tool's lines begins with.
const PREFIX: &str = "=========";

/// The reports in what a worker printed under a tool, in order, and how many were not whole.
pub fn reports(printed: &str) -> (Vec<Report>, usize) {
    let (mut found, mut broken) = (Vec::new(), 0);
    let mut lines = whole_lines(printed).into_iter().peekable();
    while let Some(line) = lines.next() {
        let Some(title) = title(&line) else { continue };
        let mut details = Vec::new();
        while let Some(detail) = lines.next_if(|line| after(line, DETAIL).is_some()) {
            details.extend(after(&detail, DETAIL).map(|text| text.trim().to_string()));
        }
        match form(title) {
            Some(form) => match form(title, &details) {
                Some(report) => found.push(report),
                None => broken += 1,
            },
            None => found.extend(notice(title)),
        }
    }
    (found, broken)
}

/// The lines that have an end, without colours.
fn whole_lines(printed: &str) -> Vec<String> {
    let whole = printed.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    whole.map(|line| without_escapes(line.trim_end_matches('\r'))).collect()
}

/// `line` without the escape sequences of terminals: from ESC and `[` to a letter.
fn without_escapes(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| {
        text + part.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).get(1..).unwrap_or("")
    })
}

/// What follows `start` in a line that has one prefix. A second one is the beginning of another line.
fn after<'a>(line: &'a str, start: &str) -> Option<&'a str> {
    line.strip_prefix(start).filter(|rest| !rest.contains(PREFIX))
}

/// The text of a line of the tool that begins a report.
fn title(line: &str) -> Option<&str> {
    let title = after(line, PREFIX)?.strip_prefix(' ')?;
    (!title.starts_with(' ') && !title.is_empty()).then_some(title)
}

/// Reads a report from its title and its details. `None` if it is not whole.
type Form = fn(&str, &[String]) -> Option<Report>;

/// The form of a report, by its title. `None` for other lines of the tool.
fn form(title: &str) -> Option<Form> {
    const FORMS: [(&str, Form); 8] = [
        ("Invalid ", access),
        ("Potential invalid ", access),
        ("Malloc/Free error", free),
        ("Uninitialized ", by_thread),
        ("Host API ", host),
        ("Barrier error", by_thread),
        ("Race reported between ", race),
        ("Leaked ", leak),
    ];
    // racecheck says first how bad it is.
    let said = title.split_once(": ").filter(|(severity, _)| is_severity(severity)).map_or(title, |(_, said)| said);
    if said.contains("Potential ") && said.contains(" hazard detected at ") {
        return Some(hazard);
    }
    FORMS.into_iter().find(|(start, _)| said.starts_with(start)).map(|(_, form)| form)
}

fn is_severity(word: &str) -> bool {
    ["error", "warning", "warn", "info"].contains(&word.to_ascii_lowercase().as_str())
}

/// A fact: the tool's own problems, and reports that it left out.
fn notice(title: &str) -> Option<Report> {
    const NOTICES: [&str; 4] =
        ["Internal Sanitizer ", " were not printed", " were skipped (error buffer", "Results might be incorrect"];
    let is_notice = NOTICES.iter().any(|text| title.contains(text));
    is_notice.then(|| Report::fact(format!("compute-sanitizer: {title}")))
}

/// `KERNEL+0x70 in FILE:LINE`, where the last part may be missing; the offset is `:0x70` in some messages. An address alone
/// names no place.
fn place(text: &str) -> Option<Place> {
    let (at, source) = match text.rsplit_once(" in ") {
        Some((at, source)) => {
            let (file, line) = source.rsplit_once(':')?;
            (at, Some(Source { file: file.to_string(), line: line.parse().ok()? }))
        }
        None => (text, None),
    };
    let hexadecimal = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if at.strip_prefix("0x").is_some_and(hexadecimal) {
        return Some(Place::default());
    }
    let (function, _) = at.rsplit_once("0x").filter(|(_, offset)| hexadecimal(offset))?;
    let function = function.strip_suffix(['+', ':'])?;
    let kernel = function.split('(').next().unwrap_or(function).trim().to_string();
    Some(Place { kernel, source, ptx: None })
}

/// Whether this is `by thread (0,0,0) in block (0,0,0)`, whose second half may say more.
fn is_thread(line: &str) -> bool {
    let parts = line.strip_prefix("by thread (").and_then(|rest| rest.split_once(") in block ("));
    parts.is_some_and(|(thread, block)| thread.split(',').count() == 3 && block.contains(')'))
}

fn report(kind: Kind, place: Place, title: &str, details: &[String]) -> Report {
    let is_host = |line: &&String| line.starts_with("Saved host backtrace") || line.starts_with("Host Frame");
    let shown = details.iter().filter(|line| !is_host(line)).cloned();
    let lines = std::iter::once(title.to_string()).chain(shown).collect();
    Report { severity: Severity::Report, kind: Some(kind), place, assertion: None, lines }
}

/// The place of a report whose details begin with `at …` and `by thread …`.
fn at_and_thread(details: &[String]) -> Option<Place> {
    let [at, thread, ..] = details else { return None };
    place(at.strip_prefix("at ")?).filter(|_| is_thread(thread))
}

/// How the line of the address begins: until 2024, in 2025, and since 2025.3.
const ADDRESS: [&str; 3] = ["Address 0x", "Access at 0x", "Access to 0x"];

/// memcheck: an access. Its kind is at the end of the line of the address.
fn access(title: &str, details: &[String]) -> Option<Report> {
    let is_array = title.contains("__shared__") || title.contains("__local__");
    let endings = [
        (" is out of bounds", if is_array { Kind::OutOfWindow } else { Kind::OutOfBounds }),
        (" is misaligned", Kind::Misaligned),
        (" accessed after it is free'd", Kind::UseAfterFree),
        (" accessed before it is allocated", Kind::UseBeforeAllocation),
        (" in a block that might not have entered yet", Kind::OutOfWindow),
        (" in a block that might have already exited", Kind::OutOfWindow),
    ];
    let at = at_and_thread(details)?;
    let address = details.get(2).filter(|line| ADDRESS.iter().any(|start| line.starts_with(start)))?;
    let (_, kind) = endings.into_iter().find(|(ending, _)| address.ends_with(ending))?;
    Some(report(kind, at, title, details))
}

/// memcheck: a kernel's own `free`.
fn free(title: &str, details: &[String]) -> Option<Report> {
    Some(report(Kind::InvalidFree, at_and_thread(details)?, title, details))
}

/// initcheck and synccheck.
fn by_thread(title: &str, details: &[String]) -> Option<Report> {
    let kind = if title.starts_with("Barrier") { Kind::Barrier } else { Kind::Uninitialized };
    Some(report(kind, at_and_thread(details)?, title, details))
}

/// initcheck: a copy of bytes that were never written. The call is the place.
fn host(title: &str, details: &[String]) -> Option<Report> {
    let starts = ["Uninitialized access at 0x", "Uninitialized access to 0x"];
    let line = details.first().filter(|line| starts.iter().any(|start| line.starts_with(start)))?;
    let (_, call) = line.trim_end_matches('.').split_once(" on access by ")?;
    let place = Place { kernel: call.strip_suffix(" source")?.to_string(), ..Place::default() };
    Some(report(Kind::Uninitialized, place, title, details))
}

/// racecheck, one report for all hazards of an access: `Race reported between Write access at PLACE`, and the other accesses.
fn race(title: &str, details: &[String]) -> Option<Report> {
    let (_, at) = title.split_once(" access at ")?;
    let is_other = |line: &String| {
        let other = line.strip_prefix("and ").and_then(|rest| rest.split_once(" access at "));
        other.is_some_and(|(_, at)| at.ends_with(" hazards]"))
    };
    details.first().filter(|line| is_other(line))?;
    Some(report(Kind::Race, place(at)?, title, details))
}

/// racecheck with `--racecheck-report hazard`: `Write Thread (0,0,0) at PLACE` for each of two threads, in the order of the
/// hazard: a read after a write, a write after a read, a write after a write.
fn hazard(title: &str, details: &[String]) -> Option<Report> {
    let accesses = [("RAW", ["Write", "Read"]), ("WAR", ["Read", "Write"]), ("WAW", ["Write", "Write"])];
    let (_, [former, latter]) = accesses.into_iter().find(|(name, _)| title.contains(&format!(" {name} hazard")))?;
    let thread =
        |line: &str, access: &str| place(line.strip_prefix(access)?.strip_prefix(" Thread (")?.split_once(" at ")?.1);
    let [first, second, ..] = details else { return None };
    thread(second, latter)?;
    Some(report(Kind::Race, thread(first, former)?, title, details))
}

/// memcheck with `--leak-check full`. No kernel is at fault, so there is no place.
fn leak(title: &str, details: &[String]) -> Option<Report> {
    title.rsplit_once(" at 0x")?;
    Some(report(Kind::Leak, Place::default(), title, details))
}
