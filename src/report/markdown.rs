//! A finding as an issue in Markdown: what to run, what happens, and what should happen.

pub mod text;

use std::fmt::Write as _;

use crate::causes::{KnownFailures, Sighting, Upstream};
use crate::device::Device;
use crate::exec::Ran;
use crate::ops::{Contract, own};
use crate::oracle::{Evidence, Kind, Rank};
use crate::outcome::{Gradients, Observation, Outcome};
use crate::program::{ProgramOptions, Test, call, program, test, torch};
use crate::run::crate_path;
use crate::store::{Finding, Unchecked};
use crate::tensor::View;

use super::device_line::readable;
use super::expected::{expected, values_expected};
use super::reason::reason;
use super::sources::{about_pytorch, sources};
use super::values::{OUTSIDE, has_margin, shows_outside_of_a_view};
use super::why::Why;
use super::words::{SNUFFER, device, title};
use text::{fenced, folded, inline, unwrapped};

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
            places: &[],
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
        // The explanation of a cause says what happens.
        let lead = match self.cause {
            Some(why @ Why { is_asked: true, .. }) => why.explanation(),
            Some(why) => format!("{}\n\n{}", self.summary(), why.explanation()),
            None => self.summary(),
        };
        let mut text = format!("{lead}\n\n## To reproduce\n\n{}", self.reproduction());
        // The program printed the result of a single device.
        let is_shown = self.program.is_ok() && self.shown().count() == 1;
        if !is_shown {
            text += &self.results();
        }
        text += &self.simulated();
        if self.shown().any(|seen| shows_outside_of_a_view(&self.finding.case, &seen.outcome)) {
            let _ = writeln!(text, "\n{:?} comes from {OUTSIDE}.", View::POISON);
        }
        text += &self.in_pytorch();
        text += &format!("\n## What should happen\n\n{}\n", self.expectation());
        text += &self.cause.map_or_else(String::new, Why::fix);
        text += &self.test();
        if let Some(workaround) = self.cause.and_then(|why| why.cause.workaround.as_ref()) {
            text += &format!("\n## Workaround\n\n{}\n", unwrapped(workaround));
        }
        if !self.ablation.is_empty() {
            text += "\n## Conditions\n\nFound by changing one thing at a time:\n\n";
            self.ablation.iter().for_each(|line| text += &format!("- {}\n", inline(line)));
        }
        text + &self.links() + &self.environment()
    }

    /// The program and what it prints, or else the call.
    fn reproduction(&self) -> String {
        let Self { finding, evidence, .. } = self;
        let why = match self.program {
            Err(why) => why,
            Ok((program, ran)) => {
                let mut text = format!("{}\nprints\n\n{}", fenced("rust", program), fenced("", &printed(ran)));
                if self.has_other_values {
                    text += "\nThe wrong values differ from run to run, as values do that are read from memory outside of the \
                             inputs. The table below has those of another run.\n";
                }
                return text;
            }
        };
        let comments = Self::comments(evidence, finding, self.cause.is_some_and(|why| why.is_asked));
        let options = ProgramOptions { device: finding.violation.device, comments: &comments, outputs: &[] };
        // Large inputs make no program, and an op of one's own needs the crate that has it.
        let shown = match program(evidence.op, &finding.case, &options) {
            Ok(program) if own::brought().is_none() => fenced("rust", &program),
            _ => {
                let call = fenced("rust", &call(evidence.op, &finding.case));
                format!("{call}\nwith these inputs:\n\n{}", fenced("toml", &finding.case.to_text()))
            }
        };
        format!("Not run here ({}):\n\n{shown}", inline(why))
    }

    /// The observations that say something: a call that always runs on the CPU does the same on each device.
    fn shown(&self) -> impl Iterator<Item = &Observation> {
        let is_of_the_host = self.evidence.op.is_of_the_host();
        self.finding.observations.iter().filter(move |seen| !is_of_the_host || seen.device == Device::Cpu)
    }

    /// A test for candle's own suite, folded.
    fn test(&self) -> String {
        let finding = self.finding;
        let seen = finding.observations.iter().find(|seen| seen.device == finding.violation.device);
        let passes_once_fixed =
            self.cause.is_none_or(|why| why.cause.passes_once_fixed(&Sighting::of(finding).signature.slug()));
        let test = |seen| test(self.evidence, seen, finding.violation.oracle).ok();
        let Some(test) = seen.filter(|_| passes_once_fixed).and_then(test) else {
            return String::new();
        };
        let test = match self.cause {
            Some(why) => why.cause.own_test(test),
            None => test,
        };
        let title = format!("A test for {}, which fails until this is fixed", test.place());
        folded(&title, "rust", &pasted(&test, self.source))
    }

    /// A note on the results of the simulated device, if there are any.
    fn simulated(&self) -> String {
        if !self.shown().any(|seen| matches!(seen.device, Device::Sim(_))) {
            return String::new();
        }
        let on_a_gpu = self.shown().any(|seen| matches!(seen.device, Device::Cuda(_)));
        let not_run = if on_a_gpu { "" } else { "This was not run on a GPU. " };
        format!(
            "\n{not_run}\"CUDA, simulated\" executes the PTX of candle's own kernels on the CPU and checks every access.\n"
        )
    }

    /// The same call in PyTorch and its answer, folded; nothing where no answer is known.
    fn in_pytorch(&self) -> String {
        let said = self.cause.and_then(|why| why.cause.pytorch.as_ref());
        let (Some(said), Ok(script)) = (said, torch(self.evidence.op, &self.finding.case)) else {
            return String::new();
        };
        let said = format!("PyTorch: {}", unwrapped(said)).replace(". ", ".\n");
        let answer = said.lines().map(|line| format!("# {line}")).collect::<Vec<_>>().join("\n");
        folded("The same call in PyTorch, for comparison", "python", &format!("{script}\n{answer}\n"))
    }

    /// The right behaviour, and on whose word.
    fn expectation(&self) -> String {
        let Self { evidence, finding, .. } = self;
        let said = match self.cause.and_then(|why| why.cause.expected.as_ref()) {
            Some(expected) => {
                let values = values_expected(evidence, &finding.violation);
                std::iter::once(unwrapped(expected)).chain(values).collect::<Vec<_>>().join("\n\n")
            }
            None => {
                let source = sources(&finding.promise, &finding.case, &evidence.contract);
                format!("{}\n\nSource: {}.", expected(evidence, &finding.violation), inline(&source))
            }
        };
        let asserts = about_pytorch(evidence.op, &finding.case);
        let pytorch = self.cause.and_then(|why| why.cause.pytorch_besides());
        let pytorch = pytorch.map(|said| format!("PyTorch: {}", unwrapped(said)));
        std::iter::once(said).chain(asserts).chain(pytorch).collect::<Vec<_>>().join("\n\n")
    }

    /// The issues and pull requests of candle about it.
    fn links(&self) -> String {
        match self.known.upstream(&Sighting::of(self.finding)) {
            None => String::new(),
            Some(links @ Upstream { same_cause_as: None, .. }) => format!("\n## See also\n\n{links}.\n"),
            Some(links @ Upstream { same_cause_as: Some(title), .. }) => {
                format!("\n## See also\n\nProbably the same cause as “{title}”: {links}.\n")
            }
        }
    }

    /// The results on all devices, as a table.
    fn results(&self) -> String {
        let finding = self.finding;
        let mut text = "\n## What happens\n\n| device | result |\n|---|---|\n".to_string();
        for seen in self.shown() {
            let on = device(seen.device);
            let mut row = |call: &str, outcome: &Outcome| {
                let _ = writeln!(text, "| {on}{call} | {} |", inline(&readable(&outcome.does())));
            };
            row("", &seen.outcome);
            seen.contiguous.iter().for_each(|contiguous| row(", contiguous inputs", contiguous));
            if let (Some(sibling), Some((other, _))) = (&seen.sibling, crate::ops::sibling(&finding.case)) {
                row(&format!(", {}", other.name), sibling);
            }
            for (sample, alone) in own::samples(&finding.case).iter().zip(&seen.samples) {
                row(&format!(", sample {} alone", sample.place), alone);
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
        match &self.evidence.contract {
            Contract::Rejects(rule) => format!("For an invalid argument ({rule}), {happens}; an `Err` is expected."),
            Contract::Accepts { .. } => match self.finding.violation.device {
                Device::Cpu => format!("On the CPU, {happens}."),
                other => format!("On {}, {happens}.", device(other)),
            },
            Contract::Unspecified(why) => {
                format!("For arguments whose result nothing specifies ({why}), {happens}. No arguments may cause that.")
            }
        }
    }

    /// The comments of the program: what should happen, unless the report is about a cause and says that, and what its values mean.
    pub fn comments(evidence: &Evidence, finding: &Finding, is_about_a_cause: bool) -> Vec<String> {
        let expected = match (&finding.signature.kind, &evidence.contract) {
            (_, Contract::Unspecified(why)) => format!("expected: the process survives ({why})"),
            _ if finding.signature.rank() == Rank::Cost => finding.violation.detail.clone(),
            (Kind::WrongValue, _) => reason(evidence, &finding.violation),
            (Kind::MissingGradient | Kind::RefusedGradient | Kind::NotSupported, _) => {
                "expected: Ok, and a gradient".to_string()
            }
            _ => format!("expected: {}", super::promised(&evidence.contract)),
        };
        let expected = (!is_about_a_cause).then_some(expected);
        let is_said = expected.as_ref().is_some_and(|said| said.contains(OUTSIDE));
        let margin =
            (has_margin(&finding.case) && !is_said).then(|| format!("{:?} comes from {OUTSIDE}", View::POISON));
        expected.into_iter().chain(margin).collect()
    }

    fn environment(&self) -> String {
        let (finding, reproduction) = (self.finding, &self.finding.reproduction);
        let mut text = format!("\n## Environment\n\n- {}\n", inline(&finding.origin.versions));
        if reproduction.failed != reproduction.tries {
            text += &format!("- happens in {} of {} runs\n", reproduction.failed, reproduction.tries);
        }
        let is_shown = |place: Device| self.shown().any(|seen| seen.device == place);
        for (place, hardware) in finding.origin.hardware.iter().filter(|(place, _)| is_shown(**place)) {
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
            text += &format!("- in a release build: {}\n", reproduction.unchecked);
        }
        if own::brought().is_none() {
            let more = match self.cause {
                Some(why) if why.cause.is_in_shared_code() => "; it runs the same code",
                Some(why) if why.change.is_some() && why.cause.leaves_metal() => "; the change leaves it as it is",
                _ => "",
            };
            text += &format!("- Metal: not tried{more}\n");
        }
        text + &format!("- found with {SNUFFER}\n")
    }
}

/// The test as the end of the file that it belongs to; as a new file, if that is not at hand.
fn pasted(test: &Test, source: Source) -> String {
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
