//! A finding as an issue in Markdown: what to run, what happens, and what should happen.

mod table;
pub mod text;

use std::fmt::Write as _;

use crate::CANDLE;
use crate::case::Case;
use crate::causes::{KnownFailures, Sighting, Upstream};
use crate::device::{Device, Hardware};
use crate::exec::Ran;
use crate::ops::{Contract, own};
use crate::oracle::{Evidence, Kind, Rank};
use crate::outcome::{Gradients, Observation, Outcome};
use crate::program::{ProgramOptions, Test, call, program, test};
use crate::run::crate_path;
use crate::store::{Finding, Unchecked};
use crate::tensor::View;

use super::expected::{Above, expected, sentence, values_expected};
use super::reason::reason;
use super::sources::{about_pytorch, sources};
use super::values::{OUTSIDE, has_margin, shows_outside_of_a_view};
use super::why::Why;
use super::words::{SNUFFER, device, title};
use super::{links, metal};
use table::Table;
use text::{collapsed, fenced, inline, unwrapped};

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
        let known = self.known_upstream().map_or_else(String::new, |known| known + "\n\n");
        let mut text = format!("{known}{lead}\n\n## To reproduce\n\n{}{}", self.reproduction(), self.results());
        let shows_outside = self.shown().any(|seen| shows_outside_of_a_view(&self.finding.case, &seen.outcome));
        if shows_outside && !text.contains(OUTSIDE) {
            let _ = writeln!(text, "\n{:?} comes from {OUTSIDE}.", View::POISON);
        }
        text += &format!("\n## What should happen\n\n{}\n", self.expectation());
        text += &self.cause.map_or_else(String::new, Why::fix);
        text += &self.pasted_test();
        if let Some(workaround) = self.cause.and_then(|why| why.cause.workaround.as_ref()) {
            text += &format!("\n## Workaround\n\n{}\n", unwrapped(workaround));
        }
        if !self.ablation.is_empty() {
            text += "\n## Conditions\n\nFound by changing one thing at a time:\n\n";
            self.ablation.iter().for_each(|line| text += &format!("- {}\n", inline(line)));
        }
        text + &self.links() + &self.environment()
    }

    /// The program and what it prints, or else the call. A note on the simulated device comes first: nobody may take what it prints for
    /// the output of a GPU.
    fn reproduction(&self) -> String {
        let note = if self.is_simulated() { self.simulated() + "\n" } else { String::new() };
        note + &match self.program {
            Ok((program, ran)) => self.run(program, ran),
            Err(why) => self.not_run(why),
        }
    }

    fn run(&self, program: &str, ran: &Ran) -> String {
        let prints = if self.is_simulated() { "On the simulated device it prints" } else { "prints" };
        let mut text = self.dependencies(program);
        text += &format!("{}\n{prints}\n\n{}", fenced("rust", program), fenced("", &printed(ran)));
        if self.has_other_values {
            text += "\nThe wrong values differ from run to run: they are read from memory outside the inputs. The table below \
                     shows another run.\n";
        }
        text
    }

    fn not_run(&self, why: &str) -> String {
        let Self { finding, evidence, .. } = self;
        let comments = Self::comments(evidence, finding, self.cause.is_some_and(|why| why.is_asked));
        let options = ProgramOptions { device: finding.violation.device, comments: &comments, outputs: &[] };
        // Large inputs make no program, and an op of one's own needs the crate that has it.
        let shown = match program(evidence.op, &finding.case, &options) {
            Ok(program) if own::brought().is_none() => self.dependencies(&program) + &fenced("rust", &program),
            _ => {
                let call = fenced("rust", &call(evidence.op, &finding.case));
                format!("{call}\nwith these inputs:\n\n{}", fenced("toml", &finding.case.to_text()))
            }
        };
        format!("Not run here ({}):\n\n{shown}", inline(why))
    }

    /// The dependencies of a program, where it needs candle with a feature.
    fn dependencies(&self, program: &str) -> String {
        if self.finding.violation.device == Device::Cpu {
            return String::new();
        }
        let crates = ["candle-core", "candle-nn"].into_iter();
        let used = crates.filter(|name| program.contains(&name.replace('-', "_")));
        let lines = used.map(|name| format!("{name} = {{ version = \"{CANDLE}\", features = [\"cuda\"] }}\n"));
        format!("{}\n", fenced("toml", &lines.collect::<String>()))
    }

    /// The observation of the device that fails.
    fn seen(&self) -> Option<&Observation> {
        let failing = self.finding.violation.device;
        self.finding.observations.iter().find(|seen| seen.device == failing)
    }

    /// True if the simulated device fails, which also runs the program.
    fn is_simulated(&self) -> bool {
        matches!(self.finding.violation.device, Device::Sim(_))
    }

    /// The observations that say something: a call that always runs on the CPU does the same on each device.
    fn shown(&self) -> impl Iterator<Item = &Observation> {
        let is_of_the_host = self.evidence.op.is_of_the_host();
        self.finding.observations.iter().filter(move |seen| !is_of_the_host || seen.device == Device::Cpu)
    }

    /// A test for candle's own suite.
    fn test(&self) -> Option<Test> {
        let finding = self.finding;
        let passes_once_fixed =
            self.cause.is_none_or(|why| why.cause.passes_once_fixed(&Sighting::of(finding).signature.slug()));
        let test = |seen| test(self.evidence, seen, finding.violation.oracle).ok();
        let test = self.seen().filter(|_| passes_once_fixed).and_then(test)?;
        Some(match self.cause {
            Some(why) => why.cause.own_test(test),
            None => test,
        })
    }

    /// The test, folded.
    fn pasted_test(&self) -> String {
        let Some(test) = self.test() else { return String::new() };
        let title = format!("A test for {}, which fails until this is fixed", test.place());
        pasted(&test, &title, &(self.source)(&test.file).unwrap_or_default())
    }

    fn is_on_a_gpu(&self) -> bool {
        self.shown().any(|seen| matches!(seen.device, Device::Cuda(_)))
    }

    /// A note on the simulated device, and that no GPU ran this if none did.
    fn simulated(&self) -> String {
        let gpu = if self.is_on_a_gpu() { "" } else { " No GPU was used." };
        format!(
            "The simulated CUDA device is an emulator: it runs the PTX of candle's kernels on the CPU and checks every access.{gpu}\n"
        )
    }

    /// The right behaviour, and on whose word.
    fn expectation(&self) -> String {
        let Self { evidence, finding, .. } = self;
        let said = match self.cause.and_then(|why| why.cause.expected.as_ref()) {
            Some(expected) => {
                let values = values_expected(evidence, &finding.violation, self.above());
                std::iter::once(unwrapped(expected)).chain(values).collect::<Vec<_>>().join("\n\n")
            }
            None => {
                let source = sources(&finding.promise, &finding.case, &evidence.contract);
                format!("{}\n\nSource: {}.", expected(evidence, &finding.violation, self.above()), inline(&source))
            }
        };
        let asserts = about_pytorch(evidence.op, &finding.case);
        let pytorch = self.cause.and_then(|why| why.cause.pytorch_besides()).filter(|_| asserts.is_none());
        let pytorch = pytorch.map(|said| format!("PyTorch: {}", unwrapped(said)));
        std::iter::once(said).chain(asserts).chain(pytorch).collect::<Vec<_>>().join("\n\n")
    }

    /// How the code above shows the values that are wrong.
    fn above(&self) -> Above {
        let case = &self.finding.case;
        match self.seen().map(|seen| &seen.outcome) {
            _ if self.program.is_err() => Above::NotRun,
            _ if self.has_other_values => Above::PrintsOtherValues,
            Some(outcome) if prints_one_value(outcome) && !shows_outside_of_a_view(case, outcome) => {
                Above::PrintsOneValue
            }
            _ => Above::PrintsValues,
        }
    }

    /// The issues and pull requests of candle about this very bug, in a sentence.
    fn known_upstream(&self) -> Option<String> {
        let Upstream { same_cause_as: None, links, .. } = self.upstream()? else { return None };
        links::of_the_bug(links, self.cause.is_some_and(|why| why.change.is_some()))
    }

    /// The other issues and pull requests of candle about it.
    fn links(&self) -> String {
        let Some(Upstream { same_cause_as, kept, links }) = self.upstream() else { return String::new() };
        let links = if same_cause_as.is_some() { links.iter().collect() } else { links::others(links) };
        if kept.is_none() && links.is_empty() {
            return String::new();
        }
        let alike = same_cause_as.map(|title| format!("Probably the same cause as “{title}”:\n\n"));
        format!("\n## See also\n\n{}{}", alike.unwrap_or_default(), links::list(kept, links))
    }

    fn upstream(&self) -> Option<Upstream<'a>> {
        self.known.upstream(&Sighting::of(self.finding))
    }

    /// The results that the program did not print: as a table, or as a line where they are the same as those that it printed.
    fn results(&self) -> String {
        if let Some(devices) = self.alike() {
            return if devices.is_empty() { devices } else { format!("\nThe same on {devices}.\n") };
        }
        let case = &self.finding.case;
        let mut table = Table::after(self.program.map_or_else(|_| String::new(), |(_, ran)| printed(ran)));
        for seen in self.shown() {
            let on = device(seen.device);
            let mut row = |call: &str, outcome: &Outcome| table.push(&format!("{on}{call}"), &outcome.does());
            if !self.is_printed(seen) {
                row("", &seen.outcome);
            }
            seen.contiguous.iter().for_each(|outcome| row(&format!(", {}", with_copies(case)), outcome));
            if let (Some(sibling), Some((other, _))) = (&seen.sibling, crate::ops::sibling(case)) {
                row(&format!(", {}", other.name), sibling);
            }
            for (sample, alone) in own::samples(case).iter().zip(&seen.samples) {
                row(&format!(", sample {} alone", sample.place), alone);
            }
        }
        if let Unchecked::Other(outcome) = &self.finding.reproduction.unchecked {
            table.push(&format!("{}, release build", device(self.finding.violation.device)), outcome);
        }
        let text = table.text();
        if text.is_empty() {
            return text;
        }
        let has_simulated = !self.is_simulated() && self.shown().any(|seen| matches!(seen.device, Device::Sim(_)));
        let note = if has_simulated { self.simulated() + "\n" } else { String::new() };
        format!("\n## What happens\n\n{note}{text}")
    }

    /// The other devices, in words, if each result is the one that the program printed.
    fn alike(&self) -> Option<String> {
        let own = self.seen().filter(|own| self.is_printed(own))?;
        let is_printed = |outcome: &Outcome| is_alike(outcome, &own.outcome);
        let says_no_more = |seen: &Observation| {
            let Observation { outcome, contiguous, sibling, samples, .. } = seen;
            is_printed(outcome) && contiguous.iter().chain(sibling).chain(samples).all(is_printed)
        };
        let is_the_same_in_release = !matches!(self.finding.reproduction.unchecked, Unchecked::Other(_));
        let words = |seen: &Observation| match seen.device {
            Device::Cpu => "the CPU".to_string(),
            Device::Sim(_) if !self.is_on_a_gpu() => {
                "CUDA (kernels run in an emulator of PTX; no GPU was used)".to_string()
            }
            other => device(other),
        };
        let others = self.shown().filter(|seen| seen.device != own.device).map(words);
        let are_alike = is_the_same_in_release && self.shown().all(says_no_more);
        are_alike.then(|| others.collect::<Vec<_>>().join(" and on "))
    }

    /// True if the program printed all that the outcome of `seen` says.
    fn is_printed(&self, seen: &Observation) -> bool {
        let says_more = match &seen.outcome {
            Outcome::Returned(returned) => returned.tracked,
            Outcome::Died(_) => true,
            _ => false,
        };
        let is_its = self.program.is_ok() && seen.device == self.finding.violation.device;
        is_its && !self.has_other_values && !says_more
    }

    /// What is wrong, in a sentence, and what is known about it.
    fn summary(&self) -> String {
        let name = self.name();
        let reason = reason(self.evidence, &self.finding.violation);
        let happens = match self.seen().map(|seen| &seen.outcome) {
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
                format!(
                    "{}. No result is specified for these arguments ({why}), but no call may do that.",
                    sentence(&happens)
                )
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
        let also = if reproduction.unchecked == Unchecked::Same { "; the same in a release build" } else { "" };
        let versions = inline(&finding.origin.versions);
        let mut text = format!("\n## Environment\n\n- {versions}, with debug assertions and overflow checks{also}\n");
        if reproduction.failed != reproduction.tries {
            text += &format!("- happens in {} of {} runs\n", reproduction.failed, reproduction.tries);
        }
        let is_shown = |place: Device| self.shown().any(|seen| seen.device == place);
        for (place, hardware) in finding.origin.hardware.iter().filter(|(place, _)| is_shown(**place)) {
            text += &format!("- {}: {}\n", device(*place), in_short(*place, hardware));
        }
        if let Some(tool) = finding.origin.sanitizer {
            text += &format!("- under NVIDIA's compute-sanitizer, tool {tool}\n");
        }
        if let Some(since) = self.since {
            text += &format!("- tried on the CPU: {since}\n");
        }
        text.extend(self.elsewhere.map(|elsewhere| format!("- {}\n", inline(elsewhere))));
        if own::brought().is_none() {
            if self.elsewhere.is_none() {
                text += "- candle's main branch: not tried\n";
            }
            let more = match self.cause {
                Some(why) if why.change.is_some() => metal::on_metal(why.cause, self.test().as_ref()),
                Some(why) => why.cause.is_in_shared_code().then_some("it shares this code"),
                None => None,
            };
            let more = more.map_or_else(String::new, |more| format!("; {more}"));
            text += &format!("- Metal: not tried{more}\n");
        }
        text + &format!("- found with {SNUFFER}\n")
    }
}

/// The test, folded, as the end of the file with the text `source`, and all that the imports at its top need; as a new file if that text
/// is empty.
pub(super) fn pasted(test: &Test, title: &str, source: &str) -> String {
    let names: Vec<String> = test.imported_by(source).into_iter().map(|name| format!("`{name}`")).collect();
    let imports = match names.as_slice() {
        [] => String::new(),
        names => format!("Import {} in {}, and add at its end:\n\n", names.join(", "), test.file),
    };
    collapsed(title, &(imports + &fenced("rust", &test.added_to(source))))
}

/// The hardware of a device, and of a simulated one only its architecture, which says all.
fn in_short(place: Device, hardware: &Hardware) -> String {
    let architecture = hardware.name.rsplit(' ').next().filter(|_| matches!(place, Device::Sim(_)));
    architecture.map_or_else(|| hardware.to_string(), ToString::to_string)
}

/// True if both outcomes are the same, also in values that neither tells.
fn is_alike(one: &Outcome, other: &Outcome) -> bool {
    match (one, other) {
        (Outcome::Returned(one), Outcome::Returned(other)) => one == other,
        _ => one.does() == other.does(),
    }
}

/// True if a program that prints `outcome` prints a single number.
fn prints_one_value(outcome: &Outcome) -> bool {
    let Outcome::Returned(returned) = outcome else { return false };
    matches!(returned.outputs.as_slice(), [one] if one.shape.is_empty()) && returned.backward == Gradients::NotAsked
}

/// How a call differs that takes copies of the inputs of `case`, in words.
fn with_copies(case: &Case) -> String {
    let views = case.inputs.iter().filter(|(_, tensor)| !tensor.view.is_contiguous());
    let names: Vec<String> = views.map(|(name, _)| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "contiguous inputs".to_string(),
        [one] => format!("a contiguous copy of {one}"),
        several => format!("contiguous copies of {}", several.join(" and ")),
    }
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
