//! A comparison of two candles: as JSON, as text, and as Markdown for a comment on a pull request.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::markdown::text::{fenced, inline, without_tags};
use super::words::sentence;
use crate::oracle::{Change, Class, Rank, Signature};

/// At most this many differences are spelled out in Markdown: a comment has an end.
const FOLDED: usize = 20;

/// What two candles do differently.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Comparison {
    /// The candle that is compared with, in words.
    pub base: String,
    /// The candle that is tested, in words.
    pub head: String,
    /// Why nothing was run; null if something was.
    pub note: Option<String>,
    /// The devices.
    pub devices: Vec<String>,
    /// The seed of all cases.
    pub seed: u64,
    /// How many cases ran with both.
    pub cases: u64,
    /// How many ops they are of.
    pub ops: usize,
    /// Ops that one of the two lacks.
    pub left_out: Vec<String>,
    /// How long it took.
    pub seconds: f64,
    /// The files that differ and that workers are built from.
    pub changed: Vec<String>,
    /// The differences, the worst first.
    pub differences: Vec<Difference>,
    /// The regressions that turned.
    pub regressions: Vec<Turned>,
    /// Changes that did not show in new processes every time, and so are no differences.
    pub unsteady: Vec<String>,
    /// Cases that made snuffer itself panic.
    pub broken: u64,
}

/// A difference, shown by a minimized case.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Difference {
    /// Its class.
    pub class: Class,
    /// What happens, in a sentence.
    pub what: String,
    /// The changed function that the op is nearest to, by name, or else the known cause of the failure; null if there is neither.
    pub due_to: Option<String>,
    /// The op.
    pub op: String,
    /// How bad it is, if a promise breaks, or broke before.
    pub rank: Option<Rank>,
    /// What breaks, or broke before, if a promise does.
    pub signature: Option<Signature>,
    /// The device.
    pub device: String,
    /// The difference in detail.
    pub detail: String,
    /// What the base does.
    pub before: String,
    /// What the head does.
    pub after: String,
    /// The case.
    pub case: String,
    /// The file with the case.
    pub file: String,
    /// The commands that run it with the base and with the head.
    pub replay: [String; 2],
    /// Whether the minimizer came to its end.
    pub minimal: bool,
    /// How many cases had run with both when it was first seen, that one included.
    pub after_cases: u64,
}

/// A regression that turned.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Turned {
    /// Its name.
    pub name: String,
    /// What happens, in a sentence.
    pub title: String,
    /// The device.
    pub device: String,
    /// What it does with the base.
    pub before: String,
    /// What it does with the head.
    pub after: String,
    /// The commands that run it with the base and with the head.
    pub replay: [String; 2],
}

/// A change of `op`, in a sentence.
pub fn changed(op: &str, change: &Change) -> String {
    match (&change.signature, change.class) {
        (Some(signature), Class::NewlyPassing) => format!("no more: {}", sentence(signature)),
        (Some(signature), _) => sentence(signature),
        (None, _) => format!("{op} {}", change.site),
    }
}

impl Comparison {
    /// Whether somebody should look at a difference before the change is merged.
    pub fn needs_a_look(&self) -> bool {
        self.differences.iter().any(|difference| difference.class.needs_a_look())
    }

    /// How many differences there are of each class, the worst first.
    fn counted(&self) -> String {
        let mut counts: Vec<(Class, usize)> = Vec::new();
        for difference in &self.differences {
            match counts.iter_mut().find(|(class, _)| *class == difference.class) {
                Some((_, count)) => *count += 1,
                None => counts.push((difference.class, 1)),
            }
        }
        let counts: Vec<String> = counts.iter().map(|(class, count)| format!("{count} {}", class.name())).collect();
        if counts.is_empty() { "no difference".to_string() } else { counts.join(", ") }
    }

    /// The differences by what they are due to, the worst first: one bug of a function shows in each op that calls it.
    fn groups(&self) -> Vec<(String, Vec<&Difference>)> {
        let mut groups: Vec<(String, Vec<&Difference>)> = Vec::new();
        for it in &self.differences {
            let due_to = it.due_to.clone().unwrap_or_else(|| it.op.clone());
            match groups.iter_mut().find(|(other, _)| *other == due_to) {
                Some((_, its)) => its.push(it),
                None => groups.push((due_to, vec![it])),
            }
        }
        groups
    }

    /// What was run, in a line.
    fn extent(&self) -> String {
        if let Some(note) = &self.note {
            return note.clone();
        }
        let turned = match self.regressions.len() {
            0 => "no regression changed".to_string(),
            1 => "1 regression changed".to_string(),
            more => format!("{more} regressions changed"),
        };
        let mut text = format!(
            "{} cases of {} ops with both on {}, seed {}, in {:.0} s; {turned}",
            self.cases,
            self.ops,
            self.devices.join(", "),
            self.seed,
            self.seconds
        );
        if !self.unsteady.is_empty() {
            text += &format!("; left out because they differ from run to run: {}", self.unsteady.join("; "));
        }
        if !self.left_out.is_empty() {
            text += &format!("; not run because one side lacks it: {}", self.left_out.join(", "));
        }
        text
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let block = |label: &str, what: &str, lines: [String; 5]| {
            let indented = lines.map(|line| format!("{:16}{line}\n", ""));
            format!("{label:<15} {what}\n{}", indented.concat())
        };
        let differences = self.groups().into_iter().map(|(due_to, its)| {
            let (it, others) = its.split_first().expect("a group has a difference");
            let [base, head] = &it.replay;
            let lines = [
                format!("on {}, after {}: {}", it.device, cases(it.after_cases), it.detail),
                format!("base: {}", it.before),
                format!("head: {}", it.after),
                format!("replay: {base}"),
                format!("        {head}"),
            ];
            format!("{due_to}\n{}{}\n", block(it.class.name(), &it.what, lines), behind(others))
        });
        let turned = self.regressions.iter().map(|it| {
            let [base, head] = &it.replay;
            let lines = [
                format!("on {}: {}", it.device, it.title),
                format!("base: {}", it.before),
                format!("head: {}", it.after),
                format!("replay: {base}"),
                format!("        {head}"),
            ];
            block("regression", &it.name, lines)
        });
        let blocks: String = differences.chain(turned).collect();
        format!("{blocks}{}\n{}\n", self.counted(), self.extent())
    }

    /// For a comment on a pull request.
    pub fn markdown(&self) -> String {
        let mut text = format!("## {} against {}\n\n**{}**\n\n", self.head, self.base, self.counted());
        let groups = self.groups();
        if !groups.is_empty() {
            text += "| due to | | what | on | after | others |\n|---|---|---|---|---|---|\n";
        }
        for (due_to, its) in groups {
            let (it, others) = its.split_first().expect("a group has a difference");
            let (what, after) = (inline(&it.what), cases(it.after_cases));
            let (due_to, class, more) = (inline(&due_to), it.class.name(), others.len());
            let _ = writeln!(text, "| {due_to} | {class} | {what} | {} | {after} | {more} |", it.device);
        }
        for it in self.differences.iter().take(FOLDED) {
            let _ = write!(
                text,
                "\n<details>\n<summary>{}: {}</summary>\n\n{}\n\n| | |\n|---|---|\n| base | {} |\n| head | {} |\n\n\
                 {}\nWith this case in a file `case.toml`:\n\n```sh\n{}\n{}\n```\n\n</details>\n",
                it.class.name(),
                without_tags(&it.what),
                inline(&it.detail),
                inline(&it.before),
                inline(&it.after),
                fenced("toml", &it.case),
                it.replay[0].replace(&it.file, "case.toml"),
                it.replay[1].replace(&it.file, "case.toml"),
            );
        }
        if self.differences.len() > FOLDED {
            let _ = writeln!(text, "\nThe cases of the first {FOLDED} are shown.");
        }
        if !self.regressions.is_empty() {
            text += "\n| regression | base | head | on |\n|---|---|---|---|\n";
            for it in &self.regressions {
                let (before, after) = (inline(&it.before), inline(&it.after));
                let _ = writeln!(text, "| {} | {before} | {after} | {} |", inline(&it.title), it.device);
            }
        }
        let files = match self.changed.as_slice() {
            [] => String::new(),
            files if files.len() <= 5 => format!(" Changed sources: {}.", files.join(", ")),
            files => format!(" {} source files changed.", files.len()),
        };
        let _ = writeln!(text, "\n{}.{files}", self.extent());
        text
    }
}

/// A line about the other differences of a group; empty if there is none. Their cases are in files beside that of the first.
fn behind(others: &[&Difference]) -> String {
    /// How many ops are named.
    const NAMED: usize = 4;
    if others.is_empty() {
        return String::new();
    }
    let ops: BTreeSet<&str> = others.iter().map(|it| it.op.as_str()).collect();
    let named: Vec<&str> = ops.iter().take(NAMED).copied().collect();
    let more = if ops.len() > NAMED { format!(" and {} more", ops.len() - NAMED) } else { String::new() };
    let differences = if others.len() == 1 { "difference" } else { "differences" };
    format!("{:16}and {} more {differences}, of {}{more}\n", "", others.len(), named.join(", "))
}

/// A number of cases.
fn cases(count: u64) -> String {
    if count == 1 { "1 case".to_string() } else { format!("{count} cases") }
}
