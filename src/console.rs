//! Shows campaigns: progress and lines for people, or events as JSON lines for machines.

mod event;
mod harmless;
mod labelled;
mod line;
mod shell;
mod stdout;
mod summary;
mod working;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use console::{Style, style};
use indicatif::{ProgressBar, ProgressStyle};

use crate::case::Case;
use crate::causes::KnownFailures;
use crate::device::Device;
use crate::exit_code::Exit;
use crate::hunt::{self, Plan};
use crate::report::{Summary, sentence};
use crate::store::{Finding, Record, Unchecked, id};
use working::Pace;

pub use event::Event;
pub use harmless::{harmless, short_and_harmless};
pub use labelled::labelled;
pub use line::{headed, shortened, under_a_name, width, with_label, word, wrapped};
pub use shell::{Shell, quoted};
pub use stdout::{complain, end_unwritten, finish, print, print_to};
pub use summary::{count, text as summary};
pub use working::{Working, bar};

/// Prints an event as a JSON line.
fn print_event(event: &Event) {
    print(format_args!("{}\n", serde_json::to_string(event).expect("plain data")));
}

/// How much a hunt says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// A line for each new finding.
    Lines,
    /// All of each finding, and also those that are stored already or do not happen again.
    All,
    /// Events as JSON lines.
    Json,
}

/// Shows the events of a hunt.
#[derive(Debug)]
pub struct Console<'a> {
    detail: Detail,
    bar: ProgressBar,
    shell: Shell,
    known: &'a KnownFailures,
    /// The causes that have a line.
    shown: Mutex<BTreeSet<&'a str>>,
    pace: Pace,
}

impl<'a> Console<'a> {
    /// A console for a campaign. Its bar is drawn only on a terminal.
    pub fn new(detail: Detail, plan: &Plan, shell: Shell, known: &'a KnownFailures) -> Self {
        let length = plan.time.map_or(plan.cases.unwrap_or(0), |time| time.as_secs());
        let bar = if detail == Detail::Json { ProgressBar::hidden() } else { ProgressBar::new(length) };
        let shape =
            if plan.time.is_some() { "{wide_bar} {elapsed}/{len}s  {msg}" } else { "{wide_bar} {pos}/{len}  {msg}" };
        if let Ok(style) = ProgressStyle::with_template(shape) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        let console = Self { detail, bar, shell, known, shown: Mutex::default(), pace: Pace::new() };
        let devices = names(&plan.devices);
        console.say(
            &Event::Started { seed: plan.seed, first: plan.first, ops: plan.ops.len(), devices: devices.clone() },
            || match plan.cases_to_run.len() {
                0 => {
                    let (ops, seed, first) = (count(plan.ops.len(), "op"), plan.seed, plan.first);
                    let spread = if plan.spread { " (a case on one of the GPUs)" } else { "" };
                    format!("hunting {ops} on {devices}{spread}, seed {seed}, from case {first}")
                }
                cases => format!("running {} on {devices}", count(cases, "case")),
            },
        );
        console
    }

    /// Says that other devices are set up beside the hunt, whose time begins when they join.
    pub fn sets_up_more(&self) {
        if self.detail != Detail::Json {
            let line = "other devices are being set up, which takes about ten minutes on two cores; the time of the hunt begins \
                        when they join, and Ctrl-C ends it in order";
            self.bar.suspend(|| print(format_args!("{line}\n")));
        }
    }

    fn say(&self, event: &Event, line: impl FnOnce() -> String) {
        match self.detail {
            Detail::Json => print_event(event),
            Detail::Lines | Detail::All => self.bar.suspend(|| print(format_args!("{}\n", line()))),
        }
    }

    /// Says what only some want to know.
    fn remark(&self, event: &Event, line: impl FnOnce() -> String) {
        if self.detail != Detail::Lines {
            self.say(event, line);
        }
    }

    /// Shows an event.
    pub fn event(&self, event: &hunt::Event) {
        match event {
            hunt::Event::CanaryPassed { faults, checked } => self.canary_passed(*faults, *checked),
            hunt::Event::Found(name, finding) => self.found(name, finding),
            hunt::Event::Known(name, signature) => self
                .remark(&Event::Known { signature: (*name).to_string() }, || {
                    line::finding("known", &Style::new().dim(), &sentence(signature), &id(name))
                }),
            hunt::Event::Flaky(signature) => self.remark(&Event::Flaky { signature: signature.slug() }, || {
                format!("{}   {}; did not happen again in a new process", style("flaky").yellow(), sentence(signature))
            }),
            hunt::Event::Lost { device, why, case, left } => self.lost(*device, why, *case, left),
            hunt::Event::Joined(devices) => self.joined(devices),
            hunt::Event::Progress(record, new) => self.progress(record, *new),
        }
    }

    fn canary_passed(&self, faults: usize, checked: bool) {
        self.say(&Event::Canary { faults, missed: 0, checked }, || {
            let unchecked = "; this build has no overflow checks: use the dev profile to find overflows";
            let replay = self.shell.on_the_same("replay ID");
            let found =
                format!("a line for each cause, and for each finding that nothing explains; `{replay}` runs it again");
            format!(
                "self-check: all {faults} planted faults were caught{}\n{found}",
                if checked { "" } else { unchecked }
            )
        });
    }

    fn lost(&self, device: Device, why: &str, case: Option<(&Case, &Path)>, left: &[Device]) {
        let (device, left) = (device.to_string(), names(left));
        let (op, path) =
            case.map_or_else(Default::default, |(case, path)| (case.op.clone(), path.display().to_string()));
        let lines = || {
            let after = if op.is_empty() { String::new() } else { format!(", after {op}") };
            let mut lines = vec![format!("{}    {device}{after}", style("lost").red().bold())];
            // Without any other device, the hunt's error says why.
            if !left.is_empty() {
                lines.push(format!("        {why}"));
                lines.push(format!("        the hunt continues with {left}"));
            }
            lines.extend(case.map(|(_, path)| format!("        {}", self.shell.replay(path))));
            lines.join("\n")
        };
        let event = Event::Lost {
            device: device.clone(),
            op: op.clone(),
            case: path,
            why: why.to_string(),
            left: left.clone(),
        };
        self.say(&event, lines);
    }

    fn joined(&self, devices: &[Device]) {
        let names = names(devices);
        self.bar.reset_elapsed();
        self.say(&Event::Joined { devices: names.clone() }, || match devices {
            [] => "no device joins the hunt: `cargo xtask build` says why".to_string(),
            _ => format!("{names} is set up and joins the hunt, whose time counts from now"),
        });
    }

    fn found(&self, name: &str, finding: &Finding) {
        let (signature, reproduction) = (&finding.signature, &finding.reproduction);
        let event = Event::Found {
            signature: name.to_string(),
            rank: signature.rank(),
            detail: finding.violation.detail.clone(),
            tries: reproduction.tries,
            failed: reproduction.failed,
        };
        let cause = self.known.explain(finding).cause;
        if let (Detail::Lines, Some(cause)) = (self.detail, cause)
            && !self.shown.lock().unwrap_or_else(PoisonError::into_inner).insert(&cause.name)
        {
            return;
        }
        self.say(&event, || {
            let (rank, id) = (signature.rank(), id(name));
            let known = cause.map_or_else(String::new, |cause| format!(" (known: {})", cause.title));
            let line = line::finding(rank.name(), &line::style(rank), &(sentence(signature) + &known), &id);
            if self.detail == Detail::Lines { line } else { format!("{line}\n{}", self.details(name, finding)) }
        });
    }

    /// The rest of a finding, in indented lines.
    fn details(&self, name: &str, finding: &Finding) -> String {
        let Finding { signature, violation, reproduction, .. } = finding;
        let unchecked = match &reproduction.unchecked {
            Unchecked::Same => "also without overflow checks".to_string(),
            other => format!("without overflow checks: {other}"),
        };
        let runs = format!("{} of {} runs; {unchecked}", reproduction.failed, reproduction.tries);
        let replay = self.shell.on_the_same(&format!("replay {name}"));
        let lines = [format!("{signature}, on {}", violation.device), violation.detail.clone(), runs, replay];
        lines.map(|line| format!("        {line}")).join("\n")
    }

    fn progress(&self, record: &Record, new: usize) {
        let position = self.bar.elapsed().as_secs();
        self.bar.set_position(if self.bar.length().unwrap_or(0) > position { position } else { record.next });
        let text = progress(record, new);
        let total = &record.tally.total;
        if self.detail == Detail::Json {
            print_event(&Event::Progress { cases: total.cases, failed: total.failed, new, seconds: record.seconds });
        } else if self.bar.is_hidden() && self.pace.is_due() {
            complain(format_args!("{:.0} s: {text}", record.seconds));
        }
        self.bar.set_message(text);
    }

    /// Shows how the campaign ended, and with which exit code the program ends.
    pub fn finished(&self, ended: &hunt::Summary, summary: Summary, exit: Exit) {
        self.bar.finish_and_clear();
        let record = &ended.record;
        let text = format!("{}\n\nexit code {exit}", self.end(ended, &summary));
        let total = &record.tally.total;
        let event = Event::Finished {
            cases: total.cases,
            passed: total.passed,
            partly: total.partly,
            skipped: total.skipped,
            failed: total.failed,
            seconds: record.seconds,
            signatures: record.tally.signatures.len(),
            new: ended.new.len(),
            missed: ended.missed.clone(),
            next: record.next,
            broken: record.tally.broken,
            canaries: record.tally.canaries.clone(),
            lost: record.lost.clone(),
            found: summary.found,
        };
        self.say(&event, || text);
    }

    /// The end of a campaign for people.
    fn end(&self, ended: &hunt::Summary, summary: &Summary) -> String {
        let tally = &ended.record.tally;
        let mut lines = Vec::new();
        for (fault, (right, all)) in &tally.canaries {
            lines.push(format!("planted {fault}: {right} of {all} charged to the right case"));
        }
        for missed in &ended.missed {
            lines.push(format!("{} {missed}: the campaign is invalid", style("CANARY").red().bold()));
        }
        if tally.broken > 0 {
            lines.push(format!("{} cases made snuffer itself panic: please report this snuffer bug", tally.broken));
        }
        for device in &ended.record.lost {
            lines.push(format!(
                "{}: {device} was removed; its last case is in the store's folder `lost`",
                style("LOST").red().bold()
            ));
        }
        match () {
            () if !ended.missed.is_empty() => {}
            () if tally.total.cases == 0 => lines.push("nothing ran".to_string()),
            () => lines.push(format!("\n{}", self::summary(summary, "finding", &self.shell))),
        }
        lines.join("\n")
    }
}

fn names(devices: &[Device]) -> String {
    devices.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// How far a campaign is.
fn progress(record: &Record, new: usize) -> String {
    let mut devices: BTreeMap<&str, u64> = BTreeMap::new();
    for (outcome, cases) in &record.tally.outcomes {
        *devices.entry(outcome.split(' ').next().unwrap_or_default()).or_default() += cases;
    }
    let devices: Vec<String> = devices.iter().map(|(device, cases)| format!("{device} {cases}")).collect();
    let rate = record.tally.total.cases as f64 / record.seconds.max(1e-3);
    format!("{} cases, {rate:.0}/s, {}", devices.join(", "), count(new, "finding"))
}
