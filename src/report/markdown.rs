//! A finding as an issue in Markdown: what to run, what happens, and what should happen.

pub mod text;

use std::fmt::Write as _;

use crate::causes::{KnownFailures, Sighting, Upstream};
use crate::device::Device;
use crate::exec::Ran;
use crate::ops::{Contract, own};
use crate::oracle::{Evidence, Kind, Rank};
use crate::outcome::{Gradients, Outcome};
use crate::program::{ProgramOptions, Test, call, program, test, torch};
use crate::run::crate_path;
use crate::store::{Finding, Unchecked};
use crate::tensor::View;

use super::expected::expected;
use super::reason::reason;
use super::sources::{about_pytorch, sources};
use super::values::{OUTSIDE, has_margin, shows_outside_of_a_view};
use super::why::Why;
use super::words::{device, title};
use text::{fenced, folded, inline};

/// The most lines that a report shows of what a program prints.
const PRINTED: usize = 16;

/// The contents of a report.
#[derive(Debug)]
pub struct Report<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// Its case, contract and observations.
    pub evidence: &'a Evidence<'a>,
    /// The program that shows it and what it printed, or why there is no program.
    pub program: Result<(&'a str, &'a Ran), &'a str>,
    /// True if the wrong values that the program printed are others than those that were seen.
    pub has_other_values: bool,
    /// The results of the ablation, a line each.
    pub ablation: &'a [String],
    /// The result of the bisection over candle's releases, if one ran.
    pub since: Option<&'a str>,
    /// How it fares with another candle, such as the main branch, if it ran there.
    pub elsewhere: Option<&'a str>,
    /// The failures that are known: what is said upstream of the same cause.
    pub known: &'a KnownFailures,
    /// Why it happens, if that is known.
    pub cause: Option<Why<'a>>,
    /// The text of a file of candle, where its sources are at hand.
    pub source: Source,
}

/// Reads a file of candle by its path in candle's repository.
pub type Source = fn(&str) -> Option<String>;

impl<'a> Report<'a> {
    /// The report of `finding` without what takes a while: a program, an ablation and a bisection.
    pub fn new(finding: &'a Finding, evidence: &'a Evidence, known: &'a KnownFailures) -> Self {
        let cause = known.cause_of(&Sighting::of(finding)).map(|cause| Why {
            cause,
            places: None,
            change: None,
            is_asked: false,
        });
        let program = Err("`snuffer report` turns it into a program");
        Self {
            finding,
            evidence,
            program,
            has_other_values: false,
            ablation: &[],
            since: None,
            elsewhere: None,
            known,
            cause,
            source: |_| None,
        }
    }

    /// candle's name of the call.
    fn name(&self) -> &'static str {
        let op = self.evidence.op;
        op.covers.first().copied().unwrap_or(op.name)
    }

    /// The title.
    pub fn title(&self) -> String {
        if let Some(Why { cause, is_asked: true, .. }) = self.cause {
            return cause.title.clone();
        }
        title(&self.finding.signature, self.name())
    }

    /// The whole issue.
    pub fn markdown(&self) -> String {
        format!("# {}\n\n{}", inline(&self.title()), self.body())
    }

    /// The issue without its title.
    pub fn body(&self) -> String {
        let Self { finding, evidence, .. } = self;
        let explanation = self.cause.map_or_else(String::new, Why::explanation);
        let mut text = format!("{}{explanation}\n\n## To reproduce\n\n", self.summary());
        match self.program {
            Ok((program, ran)) => {
                let _ = write!(text, "{}\nprints\n\n{}", fenced("rust", program), fenced("", &printed(ran)));
                if self.has_other_values {
                    text += "\nThe wrong values differ from run to run, as values do that are read from memory outside of the \
                             inputs. The table below has those of another run.\n";
                }
            }
            Err(why) => {
                let options = ProgramOptions {
                    device: finding.violation.device,
                    comments: &Self::comments(evidence, finding),
                    outputs: &[],
                };
                // Large inputs make no program, and an op of one's own needs the crate that has it.
                let shown = match program(evidence.op, &finding.case, &options) {
                    Ok(program) if own::brought().is_none() => fenced("rust", &program),
                    _ => {
                        let call = fenced("rust", &call(evidence.op, &finding.case));
                        format!("{call}\nwith these inputs:\n\n{}", fenced("toml", &finding.case.to_text()))
                    }
                };
                let _ = write!(text, "Not run here ({}):\n\n{shown}", inline(why));
            }
        }
        let seen = finding.observations.iter().find(|seen| seen.device == finding.violation.device);
        if let Some(test) = seen.and_then(|seen| test(evidence, seen, finding.violation.oracle).ok()) {
            let title = format!("A test for the end of {}, which fails until this is fixed", test.file);
            text += &folded(&title, "rust", &pasted(&test, self.source));
        }
        if let Ok(torch) = torch(evidence.op, &finding.case) {
            text += &folded("The same call in PyTorch, for comparison", "python", &torch);
        }
        // The program printed the result of a single device.
        let is_shown = self.program.is_ok() && finding.observations.len() == 1;
        if !is_shown {
            text += &self.results();
        }
        if finding.observations.iter().any(|seen| shows_outside_of_a_view(&finding.case, &seen.outcome)) {
            let _ = writeln!(text, "\n{:?} comes from {OUTSIDE}.", View::POISON);
        }
        let expected = expected(self.evidence, &finding.violation);
        let _ = write!(text, "\n## What should happen\n\n{expected}\n\n{}\n", self.ground());
        if let Some(about) = about_pytorch(self.evidence.op, &finding.case) {
            let _ = write!(text, "\n{about}\n");
        }
        text += &self.cause.map_or_else(String::new, Why::markdown);
        if !self.ablation.is_empty() {
            text += "\n## Conditions\n\nFound by changing one thing at a time:\n\n";
            self.ablation.iter().for_each(|line| text += &format!("- {}\n", inline(line)));
        }
        text + &self.environment()
    }

    /// On whose word something else is expected: the cause says it in a sentence, the op with all that it promises.
    fn ground(&self) -> String {
        if let Some(expected) = self.cause.and_then(|why| why.cause.expected.as_ref()) {
            return expected.trim().to_string();
        }
        format!("Source: {}.", inline(&sources(&self.finding.promise, &self.finding.case, &self.evidence.contract)))
    }

    /// The results on all devices, as a table.
    fn results(&self) -> String {
        let finding = self.finding;
        let mut text = "\n## What happens\n\n| device | result |\n|---|---|\n".to_string();
        for seen in &finding.observations {
            let _ = writeln!(text, "| {} | {} |", device(seen.device), inline(&seen.outcome.summary()));
            if let Some(contiguous) = &seen.contiguous {
                let _ = writeln!(
                    text,
                    "| {}, contiguous inputs | {} |",
                    device(seen.device),
                    inline(&contiguous.summary())
                );
            }
            if let (Some(sibling), Some((other, _))) = (&seen.sibling, crate::ops::sibling(&finding.case)) {
                let _ = writeln!(text, "| {}, {} | {} |", device(seen.device), other.name, inline(&sibling.summary()));
            }
            for (sample, alone) in own::samples(&finding.case).iter().zip(&seen.samples) {
                let (device, alone) = (device(seen.device), inline(&alone.summary()));
                let _ = writeln!(text, "| {device}, sample {} alone | {alone} |", sample.place);
            }
        }
        text
    }

    /// What is wrong, in a sentence, and what is known about it.
    fn summary(&self) -> String {
        let seen = self.finding.observations.iter().find(|seen| seen.device == self.finding.violation.device);
        let name = self.name();
        let reason = reason(self.evidence, &self.finding.violation);
        let happens = match seen.map(|seen| &seen.outcome) {
            Some(Outcome::Returned(returned)) => match &returned.backward {
                Gradients::Rejected(_) => "the backward pass fails".to_string(),
                Gradients::Returned(store) if !store.missing.is_empty() => {
                    "`backward` succeeds but returns no gradient for some inputs".to_string()
                }
                _ if matches!(self.evidence.contract, Contract::Rejects(_)) => format!("`{name}` returns `Ok`"),
                _ => format!("`{name}` returns `Ok`, but {reason}"),
            },
            Some(Outcome::Rejected(_)) => format!("`{name}` returns an `Err`"),
            Some(Outcome::Panicked(_)) => format!("`{name}` panics: {reason}"),
            Some(Outcome::Faulted(_)) => {
                format!("a kernel faults ({reason}), and every later CUDA call of the process fails")
            }
            Some(Outcome::Died(_) | Outcome::StackOverflow(_)) => "the process is killed".to_string(),
            Some(Outcome::TimedOut(_)) => format!("`{name}` does not return"),
            Some(Outcome::OutOfMemory(_)) => format!("`{name}` allocates memory without limit"),
            Some(Outcome::Unsupported(_)) | None => "the devices disagree".to_string(),
        };
        let about = match &self.evidence.contract {
            Contract::Rejects(rule) => format!("For an invalid argument ({rule}), {happens}; an `Err` is expected."),
            Contract::Accepts { .. } => match self.finding.violation.device {
                Device::Cpu => format!("On the CPU, {happens}."),
                other => format!("On {}, {happens}.", device(other)),
            },
            Contract::Unspecified(why) => {
                format!("For arguments whose result nothing specifies ({why}), {happens}. No arguments may cause that.")
            }
        };
        match self.known.upstream(&Sighting::of(self.finding)) {
            None => about,
            Some(links @ Upstream { same_cause_as: None, .. }) => format!("{about}\n\nSee also {links}."),
            Some(links @ Upstream { same_cause_as: Some(title), .. }) => {
                format!("{about}\n\nProbably the same cause as “{title}”: {links}.")
            }
        }
    }

    /// The comments of the program: what should happen, where the values alone do not show it.
    pub fn comments(evidence: &Evidence, finding: &Finding) -> Vec<String> {
        let mut comments = vec![match (&finding.signature.kind, &evidence.contract) {
            (_, Contract::Unspecified(why)) => format!("expected: the process survives ({why})"),
            _ if finding.signature.rank() == Rank::Cost => finding.violation.detail.clone(),
            (Kind::WrongValue, _) => reason(evidence, &finding.violation),
            (Kind::MissingGradient | Kind::RefusedGradient | Kind::NotSupported, _) => {
                "expected: Ok, and a gradient".to_string()
            }
            _ => format!("expected: {}", super::promised(&evidence.contract)),
        }];
        if has_margin(&finding.case) && !comments[0].contains(OUTSIDE) {
            comments.push(format!("{:?} comes from {OUTSIDE}", View::POISON));
        }
        comments
    }

    fn environment(&self) -> String {
        let (finding, reproduction) = (self.finding, &self.finding.reproduction);
        let mut text = format!("\n## Environment\n\n- {}\n", inline(&finding.origin.versions));
        if reproduction.failed != reproduction.tries {
            text += &format!("- happens in {} of {} runs\n", reproduction.failed, reproduction.tries);
        }
        for (place, hardware) in &finding.origin.hardware {
            text += &format!("- {}: {hardware}\n", device(*place));
        }
        if let Some(tool) = finding.origin.sanitizer {
            text += &format!("- under NVIDIA's compute-sanitizer, tool {tool}\n");
        }
        if let Some(since) = self.since {
            text += &format!("- tried on the CPU: {since}\n");
        }
        if let Some(elsewhere) = self.elsewhere {
            text += &format!("- {}\n", inline(elsewhere));
        }
        if !matches!(reproduction.unchecked, Unchecked::NotRun(_)) {
            text += &format!("- without debug assertions and overflow checks: {}\n", reproduction.unchecked);
        }
        if own::brought().is_none() {
            let is_shared = self.cause.is_some_and(|why| why.cause.is_in_shared_code());
            text += if is_shared { "- Metal: not tried; it runs the same code\n" } else { "- Metal: not tried\n" };
        }
        if finding.observations.iter().any(|seen| matches!(seen.device, Device::Sim(_))) {
            text += "- \"CUDA, simulated\" executes the PTX of candle's own kernels on the CPU and checks every access; this was \
                     not run on a GPU\n";
        }
        text + "- found with snuffer\n"
    }
}

/// The test as the end of the file that it belongs to; as a new file, if that is not at hand.
pub(super) fn pasted(test: &Test, source: Source) -> String {
    test.added_to(&source(&test.file).unwrap_or_default())
}

/// The output of a program, stdout first.
fn printed(ran: &Ran) -> String {
    // Drops local paths to candle's sources and hints that are not about candle.
    let word = |word: &str| if word.contains("/src/") { crate_path(word) } else { word.to_string() };
    let line =
        |line: &str| line.split(' ').filter(|word| !is_thread_id(word)).map(word).collect::<Vec<_>>().join(" ") + "\n";
    let is_shown = |line: &&str| !line.is_empty() && !line.starts_with("note: run with `RUST_BACKTRACE");
    let lines: Vec<&str> = ran.stdout.lines().chain(ran.stderr.lines()).filter(is_shown).collect();
    let mut text: String = lines.iter().take(PRINTED).map(|one| line(one)).collect();
    if let Some(more @ 1..) = lines.len().checked_sub(PRINTED) {
        text += &format!("… ({more} more lines)\n");
    }
    if !ran.ended {
        text += "(does not end)\n";
    } else if ran.code.is_none() {
        text += "(killed by a signal)\n";
    }
    text
}

/// True for the number of a thread, as in `thread 'main' (6318) panicked`.
fn is_thread_id(word: &str) -> bool {
    let number = word.strip_prefix('(').and_then(|word| word.strip_suffix(')'));
    number.is_some_and(|number| number.parse::<u64>().is_ok())
}
