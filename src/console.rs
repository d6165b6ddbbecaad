//! Shows campaigns: progress and lines for people, or events as JSON lines for machines.

mod event;
mod stdout;

use std::time::Duration;

use console::style;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use crate::hunt::{self, Plan, Summary};
use crate::oracle::Signature;
use crate::store::{Finding, Record, Store, Unchecked};

pub use event::Event;
pub use stdout::print;

/// A progress bar for `length` items, drawn only on a terminal. Call it with the name of each finished item.
pub fn bar(length: usize) -> impl Fn(&str) + Sync {
    let bar = ProgressBar::new(length as u64).with_finish(ProgressFinish::AndClear);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len}  {msg}") {
        bar.set_style(style);
    }
    move |part| {
        bar.set_message(part.to_string());
        bar.inc(1);
    }
}

/// Prints an event as a JSON line.
fn print_event(event: &Event) {
    print(format_args!("{}\n", serde_json::to_string(event).expect("plain data")));
}

/// Shows the events of a hunt.
#[derive(Debug)]
pub struct Console {
    json: bool,
    bar: ProgressBar,
    store: Store,
}

impl Console {
    /// A console for a campaign. Its bar is drawn only on a terminal.
    pub fn new(json: bool, plan: &Plan, store: &Store) -> Self {
        let length = plan.time.map_or(plan.cases.unwrap_or(0), |time| time.as_secs());
        let bar = if json { ProgressBar::hidden() } else { ProgressBar::new(length) };
        let shape =
            if plan.time.is_some() { "{wide_bar} {elapsed}/{len}s  {msg}" } else { "{wide_bar} {pos}/{len}  {msg}" };
        if let Ok(style) = ProgressStyle::with_template(shape) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        let console = Self { json, bar, store: store.clone() };
        let devices: Vec<String> = plan.devices.iter().map(ToString::to_string).collect();
        let devices = devices.join(", ");
        console.say(
            &Event::Started { seed: plan.seed, first: plan.first, ops: plan.ops.len(), devices: devices.clone() },
            || match plan.cases_to_run.len() {
                0 => {
                    format!("hunting {} ops on {devices}, seed {}, from case {}", plan.ops.len(), plan.seed, plan.first)
                }
                count => format!("running {count} cases on {devices}"),
            },
        );
        console
    }

    fn say(&self, event: &Event, line: impl FnOnce() -> String) {
        if self.json { print_event(event) } else { self.bar.suspend(|| print(format_args!("{}\n", line()))) }
    }

    /// Shows an event.
    pub fn event(&self, event: &hunt::Event) {
        match event {
            hunt::Event::CanaryPassed { faults, checked } => self.canary_passed(*faults, *checked),
            hunt::Event::Found(finding) => self.found(finding),
            hunt::Event::Known(signature) => self.say(&Event::Known { signature: signature.slug() }, || {
                format!("{}  {signature}\n       {}", style("KNOWN").dim(), self.replay(signature))
            }),
            hunt::Event::Flaky(signature) => self.say(&Event::Flaky { signature: signature.slug() }, || {
                format!("{}  {signature}: not reproduced in a new process", style("FLAKY").yellow())
            }),
            hunt::Event::Lost(device, case, path) => {
                let path = path.display().to_string();
                let event = Event::Lost { device: device.to_string(), op: case.op.clone(), case: path.clone() };
                self.say(&event, || {
                    let title = style("LOST").red().bold();
                    format!("{title}   {device}, after {}\n       replay: snuffer replay {path}", case.op)
                });
            }
            hunt::Event::Progress(record) => self.progress(record),
        }
    }

    fn canary_passed(&self, faults: usize, checked: bool) {
        self.say(&Event::Canary { faults, missed: 0, checked }, || {
            let unchecked = "; this build has no overflow checks: use the dev profile to find overflows";
            format!("canary: {faults} planted faults noticed{}", if checked { "" } else { unchecked })
        });
    }

    fn found(&self, finding: &Finding) {
        let reproduction = &finding.reproduction;
        let event = Event::Found {
            signature: finding.signature.slug(),
            detail: finding.violation.detail.clone(),
            tries: reproduction.tries,
            failed: reproduction.failed,
        };
        self.say(&event, || {
            let title = style("FOUND").red().bold();
            let unchecked = match &reproduction.unchecked {
                Unchecked::Same => "also without overflow checks".to_string(),
                other => format!("without overflow checks: {other}"),
            };
            format!(
                "{title}  {}\n       {}\n       {} of {} runs; {unchecked}\n       {}",
                finding.signature,
                finding.violation.detail,
                reproduction.failed,
                reproduction.tries,
                self.replay(&finding.signature)
            )
        });
    }

    fn replay(&self, signature: &Signature) -> String {
        format!("replay: snuffer replay {}", self.store.folder(signature).join("finding.toml").display())
    }

    fn progress(&self, record: &Record) {
        let total = &record.tally.total;
        let position = self.bar.elapsed().as_secs();
        self.bar.set_position(if self.bar.length().unwrap_or(0) > position { position } else { record.next });
        let rate = total.cases as f64 / record.seconds.max(1e-3);
        self.bar.set_message(format!(
            "{} cases, {rate:.0}/s, {} signatures",
            total.cases,
            record.tally.signatures.len()
        ));
        if self.json {
            print_event(&Event::Progress { cases: total.cases, failed: total.failed, seconds: record.seconds });
        }
    }

    /// Shows how the campaign ended.
    pub fn finished(&self, summary: &Summary) {
        self.bar.finish_and_clear();
        let record = &summary.record;
        let total = &record.tally.total;
        let rate = total.cases as f64 / record.seconds.max(1e-3);
        let event = Event::Finished {
            cases: total.cases,
            passed: total.passed,
            skipped: total.skipped,
            failed: total.failed,
            signatures: record.tally.signatures.len(),
            new: summary.new,
            missed: summary.missed.clone(),
            next: record.next,
            broken: record.tally.broken,
            canaries: record.tally.canaries.clone(),
        };
        self.say(&event, || {
            let mut lines = vec![format!(
                "{} cases in {:.0} s ({rate:.0}/s): {} passed, {} skipped, {} failed with {} signatures; {} new findings",
                total.cases,
                record.seconds,
                total.passed,
                total.skipped,
                total.failed,
                record.tally.signatures.len(),
                summary.new
            )];
            for (fault, (right, all)) in &record.tally.canaries {
                lines.push(format!("planted {fault}: {right} of {all} charged to the right case"));
            }
            for missed in &summary.missed {
                lines.push(format!("{} {missed}: the campaign is invalid", style("CANARY").red().bold()));
            }
            if record.tally.broken > 0 {
                lines.push(format!("{} cases made snuffer itself panic: please report this bug of snuffer", record.tally.broken));
            }
            if total.cases == 0 && summary.missed.is_empty() {
                lines.push("nothing ran".to_string());
            }
            lines.join("\n")
        });
    }
}
