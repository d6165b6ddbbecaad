//! The summary of a hunt or of a store on a terminal: fewer than forty lines, and what to do next.

use super::Shell;
use super::line::{finding, style, width, word, wrapped};
use crate::report::{Found, Ran, Summary};

/// How many columns stand before a cause.
const HEAD: usize = 15;

/// How many columns of a line say what its command is for.
const WHY: usize = 22;

/// The text of `summary`, whose findings are called `what`: `new finding`.
pub fn text(summary: &Summary, what: &str, shell: &Shell) -> String {
    let Summary { ran, found } = summary;
    let mut lines = vec![ran_line(ran)];
    let counts = &ran.counts;
    let [passed, partly, skipped, failed] = [counts.passed, counts.partly, counts.skipped, counts.failed];
    lines.push(format!("  {passed} passed, {partly} partly judged, {skipped} skipped, {failed} failed"));
    lines.push(found.sentence(what));
    if found.findings > 0 {
        lines.extend(found_lines(found));
    }
    lines.push("\nnext".to_string());
    lines.extend(next(found, shell).map(|(why, command)| format!("  {why:<WHY$}{command}")));
    lines.join("\n")
}

fn ran_line(ran: &Ran) -> String {
    let devices: Vec<&str> = ran.devices.iter().map(String::as_str).collect();
    let (devices, cases) = (devices.join(", "), ran.counts.cases);
    let rate = cases as f64 / ran.seconds.max(1e-3);
    let campaigns = if ran.campaigns == 1 { String::new() } else { format!(", {} campaigns", ran.campaigns) };
    let (cases, ops) = (count(cases as usize, "case"), count(ran.ops, "op"));
    format!("{cases} of {ops} on {devices} in {:.0} s ({rate:.0}/s){campaigns}", ran.seconds)
}

/// The findings by rank, the worst of them, and the known causes.
fn found_lines(found: &Found) -> Vec<String> {
    let ranks = found.ranks.iter().filter(|(_, findings)| **findings > 0);
    let ranks: Vec<String> =
        ranks.map(|(rank, findings)| format!("{findings} {}", style(*rank).apply_to(rank))).collect();
    let mut lines = vec![format!("  {}", ranks.join(", "))];
    lines.push(format!("\n{}", found.headline()));
    lines.extend(found.shown().map(|item| finding(item.rank.name(), &style(item.rank), &item.sentence, &item.id)));
    let new = found.findings - found.known;
    let more = new.saturating_sub(found.shown().count());
    lines.extend((more > 0).then(|| format!("        and {more} more")));
    let (shown, rest) = found.top_causes();
    if !shown.is_empty() {
        lines.push("\nknown causes, with the number of findings of each".to_string());
    }
    for group in shown {
        let text = wrapped(&group.text(), width() - HEAD).join(&format!("\n{:HEAD$}", ""));
        lines.push(format!("{:>5}  {} {text}", group.findings, word(group.rank)));
    }
    lines.extend(rest.map(|rest| format!("{:HEAD$}{rest}", "")));
    lines
}

/// What to do next, each with its command.
fn next(found: &Found, shell: &Shell) -> [(&'static str, String); 3] {
    let Some(worst) = found.worst.first() else {
        return [
            ("hunt longer", shell.on_the_same("hunt --time 10m")),
            ("list what is stored", shell.snuffer("findings list")),
            ("see what is tested", shell.snuffer("ops")),
        ];
    };
    let decide = if found.known < found.findings && !shell.is_on_another() {
        ("decide on each", shell.snuffer("triage"))
    } else {
        ("explain the causes", shell.snuffer("causes"))
    };
    let tell = if worst.known || shell.is_on_another() {
        ("show all of it", shell.snuffer(&format!("findings show {}", worst.id)))
    } else {
        ("write an issue for it", shell.report(&worst.id))
    };
    [("run the worst again", shell.on_the_same(&format!("replay {}", worst.id))), decide, tell]
}

/// `1 case`, `2 cases`.
pub fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
