//! A finding as an issue in Markdown: what to run, what happens, and what should happen.

use std::fmt::Write as _;

use crate::device::Device;
use crate::exec::Ran;
use crate::ops::{Contract, Op};
use crate::oracle::{Kind, OracleName};
use crate::outcome::{Gradients, Outcome};
use crate::run::crate_path;
use crate::store::regression::Regression;
use crate::store::{Finding, Unchecked};

use super::promised;

/// The contents of a report.
#[derive(Debug)]
pub struct Report<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// Its op.
    pub op: &'static Op,
    /// The call as Rust, if it can be written.
    pub call: &'a str,
    /// The program that shows it and what it printed, or why there is no program.
    pub program: Result<(&'a str, &'a Ran), &'a str>,
    /// A test of what should happen, if a single call shows it.
    pub test: Option<&'a str>,
    /// The same call in PyTorch, if it has one.
    pub torch: Option<&'a str>,
    /// The results of the ablation, a line each.
    pub ablation: &'a [String],
    /// The result of the bisection over candle's releases, if one ran.
    pub since: Option<&'a str>,
    /// The regression with the same signature, if there is one.
    pub regression: Option<&'a Regression>,
}

impl Report<'_> {
    /// The issue's title.
    pub fn title(&self) -> String {
        let (name, finding) = (self.op.covers.first().copied().unwrap_or(self.op.name), self.finding);
        let (kind, site) = (&finding.signature.kind, finding.signature.site.as_str());
        let what = match (finding.signature.oracle, kind) {
            (OracleName::Contract, Kind::NotRefused) => format!("does not refuse an invalid argument: {site}"),
            (OracleName::Contract, Kind::RefusedValid) => format!("refuses a valid call{}", of(site)),
            (OracleName::Contract, Kind::Panic) => format!("panics in {site}"),
            (OracleName::Contract, Kind::Hang) => "never returns".to_string(),
            (OracleName::Contract, Kind::Died | Kind::StackOverflow) => {
                format!("ends the process ({kind}{})", of(site))
            }
            (OracleName::Fault, Kind::Assert) => format!("fires a device-side assert in {site}"),
            (OracleName::Fault, kind) => format!("causes a CUDA error ({kind}) in {site}"),
            (OracleName::Gradient, Kind::MissingGradient) => "has no gradient, without an error".to_string(),
            (OracleName::Gradient, kind) => format!("has a {kind} in its gradient{}", of(site)),
            (OracleName::Agreement, _) => format!("differs between CPU and CUDA{}", of(site)),
            (_, kind) => format!("returns a {kind}{}", of(site)),
        };
        format!("`{name}` {what}")
    }

    /// The whole issue.
    pub fn markdown(&self) -> String {
        let finding = self.finding;
        let mut text = format!("# {}\n\n{}\n", self.title(), self.summary());
        text += "\n## To reproduce\n\n";
        match self.program {
            Ok((program, ran)) => {
                let _ = write!(text, "```rust\n{program}```\n\nprints\n\n```\n{}```\n", printed(ran));
            }
            Err(why) => {
                let _ = write!(
                    text,
                    "`{}`, with the inputs below ({why}).\n\n```toml\n{}```\n",
                    self.call,
                    finding.case.to_text()
                );
            }
        }
        text += &folded("A test for candle that fails until this is fixed", "rust", self.test);
        text += &folded("The same call in PyTorch, for comparison", "python", self.torch);
        text += "\n## What happens\n\n| device | result |\n|---|---|\n";
        for seen in &finding.observations {
            let _ = writeln!(text, "| {} | {} |", device(seen.device), cell(&seen.outcome.summary()));
            if let Some(contiguous) = &seen.contiguous {
                let _ =
                    writeln!(text, "| {}, contiguous inputs | {} |", device(seen.device), cell(&contiguous.summary()));
            }
        }
        let _ = write!(
            text,
            "\n## What should happen\n\n{}{}.\n\nSource: {}.\n",
            sentence(&promised(&(self.op.contract)(&finding.case))),
            self.gradients(),
            finding.promise
        );
        if !self.ablation.is_empty() {
            text += "\n## What matters\n\nFound by changing one thing at a time:\n\n";
            self.ablation.iter().for_each(|line| text += &format!("- {line}\n"));
        }
        text + &self.environment()
    }

    /// What is wrong, in a sentence.
    fn summary(&self) -> String {
        let contract = (self.op.contract)(&self.finding.case);
        let seen = self.finding.observations.iter().find(|seen| seen.device == self.finding.violation.device);
        let outcome = seen.map(|seen| &seen.outcome);
        let happens = match outcome {
            Some(Outcome::Returned(returned)) => match &returned.backward {
                Gradients::Rejected(_) => "the backward pass fails",
                Gradients::Returned(store) if !store.missing.is_empty() => {
                    "`backward` succeeds but leaves gradients out"
                }
                _ => "the call returns `Ok`",
            },
            Some(Outcome::Rejected(_)) => "the call returns an `Err`",
            Some(Outcome::Panicked(_)) => "the call panics",
            Some(Outcome::Faulted(_)) => "a kernel faults, and every later CUDA call of the process fails",
            Some(Outcome::Died(_) | Outcome::StackOverflow(_)) => "the process is killed",
            Some(Outcome::TimedOut(_)) => "the call does not return",
            Some(Outcome::OutOfMemory(_)) => "the call allocates memory without limit",
            Some(Outcome::Unsupported(_)) | None => "the devices disagree",
        };
        let about = match contract {
            Contract::Rejects(rule) => format!("For an invalid argument ({rule}), {happens}; an `Err` is expected."),
            Contract::Accepts { .. } => format!("For valid arguments, {happens}{}.", self.wrong(outcome)),
            Contract::Unspecified(why) => {
                format!("The arguments are unspecified ({why}), but {happens}; that should never happen.")
            }
        };
        match self.regression {
            Some(known) if known.upstream.is_some() => {
                format!("{about}\n\nSee also {}.", known.upstream.as_deref().unwrap_or_default())
            }
            _ => about,
        }
    }

    /// The gradients that should exist, if the case asks for any.
    fn gradients(&self) -> String {
        let case = &self.finding.case;
        let names = case.inputs.keys().filter(|name| self.op.has_gradient(case, name));
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        if names.is_empty() {
            return String::new();
        }
        format!(", and a gradient of {}", names.join(", "))
    }

    /// What is wrong with a return value.
    fn wrong(&self, outcome: Option<&Outcome>) -> String {
        match outcome {
            Some(Outcome::Returned(_)) => format!(": {}", self.finding.violation.detail),
            _ => String::new(),
        }
    }

    fn environment(&self) -> String {
        let (finding, reproduction) = (self.finding, &self.finding.reproduction);
        let mut text = format!(
            "\n## Environment\n\n- {}\n- happens in {} of {} runs\n",
            finding.origin.versions, reproduction.failed, reproduction.tries
        );
        for (place, hardware) in &finding.origin.hardware {
            text += &format!("- {}: {hardware}\n", device(*place));
        }
        if let Some(since) = self.since {
            text += &format!("- tried on the CPU: {since}\n");
        }
        if !matches!(reproduction.unchecked, Unchecked::NotRun(_)) {
            text += &format!("- without debug assertions and overflow checks: {}\n", reproduction.unchecked);
        }
        if finding.observations.iter().any(|seen| matches!(seen.device, Device::Sim(_))) {
            text += "- \"CUDA, simulated\" executes the PTX of candle's own kernels on the CPU and checks every access; this was \
                     not run on a GPU\n";
        }
        text + "- found by fuzzing and minimized with snuffer\n"
    }
}

/// Code in a collapsed block, so that the issue stays short.
fn folded(summary: &str, language: &str, code: Option<&str>) -> String {
    let block = |code| format!("\n<details>\n<summary>{summary}</summary>\n\n```{language}\n{code}```\n\n</details>\n");
    code.map(block).unwrap_or_default()
}

fn of(site: &str) -> String {
    if site.is_empty() { String::new() } else { format!(" ({site})") }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn device(device: Device) -> String {
    match device {
        Device::Cpu => "CPU".to_string(),
        Device::Cuda(ordinal) => format!("CUDA {ordinal}"),
        Device::Sim(_) => "CUDA, simulated".to_string(),
    }
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The output of a program, stdout first.
fn printed(ran: &Ran) -> String {
    // Drops local paths to candle's sources and hints that are not about candle.
    let word = |word: &str| if word.contains("/src/") { crate_path(word) } else { word.to_string() };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ") + "\n";
    let is_shown = |line: &&str| !line.is_empty() && !line.starts_with("note: run with `RUST_BACKTRACE");
    let mut text: String = ran.stdout.lines().chain(ran.stderr.lines()).filter(is_shown).map(line).collect();
    if !ran.ended {
        text += "(does not end)\n";
    } else if ran.code.is_none() {
        text += "(killed by a signal)\n";
    }
    text
}
