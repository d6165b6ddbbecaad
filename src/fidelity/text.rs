//! A comparison for people: a table on the terminal, and a page of Markdown.

use std::fmt::Write as _;

use super::judge::Standing;
use super::report::Fidelity;
use super::tally::Row;
use super::values::Values;

/// How many rows the terminal shows of each kind.
const MOST: usize = 20;

/// The result in short: what was compared, the worst ops, kernels and forms, and each disagreement with its file.
pub fn text(report: &Fidelity) -> String {
    let mut text = headline(report);
    for (what, rows) in kinds(report) {
        let apart: Vec<&Row> = rows.iter().filter(|row| row.agree < row.cases).collect();
        if apart.is_empty() {
            continue;
        }
        let _ = writeln!(
            text,
            "\n{what:<44} {:>7} {:>7} {:>8} {:>8} {:>6}  elements that differ",
            "cases", "agree", "latitude", "hardware", "wrong"
        );
        for row in apart.iter().take(MOST) {
            let Row { name, cases, agree, latitude, hardware_only, wrong, values } = row;
            let _ = writeln!(
                text,
                "{name:<44} {cases:>7} {:>7} {latitude:>8} {hardware_only:>8} {wrong:>6}  {}",
                percent(*agree, *cases),
                differing(values)
            );
        }
        if let Some(more) = apart.len().checked_sub(MOST).filter(|more| *more > 0) {
            let _ = writeln!(text, "and {more} more");
        }
    }
    let apart: Vec<_> = report.ends.iter().filter(|ends| ends.simulated != ends.other).take(MOST).collect();
    if !apart.is_empty() {
        text += "\ncases that end differently\n";
        for ends in apart {
            let _ = writeln!(text, "{:>7}  {} against {}", ends.cases, ends.simulated, ends.other);
        }
    }
    for standing in Standing::ALL.into_iter().filter(|standing| report.of(*standing).next().is_some()) {
        let _ = writeln!(text, "\n{}", standing.words());
        for found in report.of(standing) {
            let _ = writeln!(text, "  {}: {}", found.op, found.difference);
            let _ = writeln!(text, "    {}", found.why);
            let _ = writeln!(text, "    launches {}", found.kernels.join(", "));
            let _ = writeln!(text, "    {}", found.file.display());
        }
    }
    text
}

/// The whole result as a page.
pub fn markdown(report: &Fidelity) -> String {
    let names: Vec<String> = report.devices.iter().map(|side| format!("`{}`", side.device)).collect();
    let mut text =
        format!("# Fidelity: {}\n\nBy `snuffer lab fidelity`, {}.\n\n", names.join(" and "), report.versions);
    for side in &report.devices {
        let hardware = side.hardware.as_ref().map_or_else(|| "a CPU".to_string(), ToString::to_string);
        let with =
            if side.variables.is_empty() { String::new() } else { format!(", with {}", side.variables.join(" ")) };
        let _ = writeln!(text, "- `{}`: {hardware}{with}", side.device);
    }
    let _ = write!(text, "\n{}", headline(report));
    for (what, rows) in kinds(report) {
        let _ = write!(
            text,
            "\n## By {what}\n\n| {what} | cases | agree | latitude | hardware only | wrong | elements | differ | most ulps | no distance | ulps by decade |\n{}|\n",
            "|---".repeat(11)
        );
        for Row { name, cases, agree, latitude, hardware_only, wrong, values } in rows {
            let Values { elements, differ, most_ulps, no_distance, .. } = values;
            let _ = writeln!(
                text,
                "| `{name}` | {cases} | {} | {latitude} | {hardware_only} | {wrong} | {elements} | {differ} | {most_ulps} | {no_distance} | {} |",
                percent(*agree, *cases),
                decades(values)
            );
        }
    }
    text += "\n## By how cases end\n\n| simulated | other | cases |\n|---|---|---|\n";
    for ends in &report.ends {
        let _ = writeln!(text, "| {} | {} | {} |", ends.simulated, ends.other, ends.cases);
    }
    for standing in Standing::ALL {
        let _ = write!(text, "\n## Disagreements: {}\n\n", standing.words());
        if report.of(standing).next().is_none() {
            text += "None.\n";
        }
        for found in report.of(standing) {
            let _ = writeln!(
                text,
                "- `{}`: {}. {}. Launches `{}`.",
                found.op,
                found.difference,
                found.why,
                found.kernels.join("`, `")
            );
        }
    }
    text += "\n## Documented latitude\n\n| of | what is left open | source |\n|---|---|---|\n";
    for open in &report.open {
        let _ = writeln!(text, "| `{}` | {} | {} |", open.of, open.words, open.source);
    }
    text
}

fn kinds(report: &Fidelity) -> [(&'static str, &Vec<Row>); 3] {
    [("op", &report.ops), ("kernel", &report.kernels), ("form", &report.forms)]
}

/// What was compared, and how much of it agrees.
fn headline(report: &Fidelity) -> String {
    let Row { cases, agree, latitude, hardware_only, wrong, values, .. } = &report.total;
    let names: Vec<&str> = report.devices.iter().map(|side| side.device.as_str()).collect();
    let mut text = format!(
        "{cases} cases of {} ops on {} in {:.0} s, seed {}\n",
        report.ops.len(),
        names.join(" and "),
        report.seconds,
        report.seed
    );
    let _ = writeln!(
        text,
        "{agree} agree in every bit, {latitude} differ as documented, {hardware_only} only one device can judge, {wrong} are wrong"
    );
    let _ = writeln!(text, "{} elements compared, {}", values.elements, differing(values));
    if !report.finished {
        let _ = writeln!(text, "stopped early; `--first {}` with the same seed and ops resumes it", report.next);
    }
    text
}

fn percent(some: u64, all: u64) -> String {
    format!("{:.1}%", 100.0 * some as f64 / all.max(1) as f64)
}

fn differing(values: &Values) -> String {
    match values {
        Values { differ: 0, .. } => "none differ".to_string(),
        Values { differ, most_ulps, no_distance: 0, .. } => format!("{differ} differ, by up to {most_ulps} ulp"),
        Values { differ, most_ulps, no_distance, .. } => {
            format!("{differ} differ, by up to {most_ulps} ulp; {no_distance} are finite on one device only")
        }
    }
}

/// The histogram, such as `1: 20, 10: 3`.
fn decades(values: &Values) -> String {
    let counts = values.decades.iter().enumerate().filter(|(_, count)| **count > 0);
    let counts: Vec<String> =
        counts.map(|(decade, count)| format!("{}: {count}", 10_u128.pow(decade as u32))).collect();
    counts.join(", ")
}
