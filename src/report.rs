//! Reports for people: a case, its contract and what happened.

mod answer;
mod comparison;
mod device_line;
mod expected;
mod junit;
mod links;
mod markdown;
mod metal;
mod reason;
mod sarif;
pub mod site;
mod sources;
mod summary;
mod theme;
mod values;
mod why;
mod words;

use crate::ops::Contract;
use crate::oracle::{Evidence, OracleName, Verdict, Violation};
use crate::outcome::{DeviceReport, Outcome};
use crate::program::call;
use crate::tensor::View;

pub use answer::{Answer, Blame};
pub use comparison::{Comparison, Difference, Turned, changed};
pub use junit::junit;
pub use markdown::text::{fenced, inline};
pub use markdown::{Report, Source};
pub use reason::reason;
pub use sarif::{location, sarif};
pub use summary::{Found, Group, Item, Ran, Summary};
pub use theme::{Part, theme};
pub use values::{WrongElement, wrong_elements};
pub use why::Why;
pub use words::sentence;

/// The report as plain text: the case, its contract, what happened, and the verdict.
pub fn text(evidence: &Evidence, verdict: &Verdict) -> String {
    let mut lines = details(evidence, Outcome::summary);
    lines.extend(judged(evidence, verdict, |_| true));
    lines.join("\n") + "\n"
}

/// The report for somebody who replays a case: the answer comes first.
pub fn replay(evidence: &Evidence, verdict: &Verdict, answer: &Answer) -> String {
    let mut lines = answer.lines();
    lines.push(String::new());
    lines.extend(details(evidence, device_line::plain));
    // The line of the device has what it diagnosed.
    lines.extend(judged(evidence, verdict, |it| ![OracleName::Fault, OracleName::Checker].contains(&it.oracle)));
    lines.join("\n") + "\n"
}

/// The verdict: every violation, with its devices if there are several, and with its detail if that is `wanted`.
fn judged(evidence: &Evidence, verdict: &Verdict, wanted: fn(&Violation) -> bool) -> Vec<String> {
    let violations = match verdict {
        Verdict::Pass if matches!(evidence.contract, Contract::Rejects(_)) => {
            return vec!["verdict   pass: candle rejects the call, as it should".to_string()];
        }
        Verdict::Pass => return vec!["verdict   pass".to_string()],
        Verdict::Partly(why) => return vec![format!("verdict   no documented promise is broken: {why}")],
        Verdict::Skip(why) => return vec![format!("verdict   skip: {why}")],
        Verdict::Fail(violations) => violations,
    };
    let several = evidence.observations.len() > 1;
    let shown = violations.iter().enumerate().flat_map(|(nth, violation)| {
        let label = if nth == 0 { "verdict" } else { "and" };
        let devices: Vec<String> = violation.devices().filter(|_| several).map(|device| device.to_string()).collect();
        let on = if several { format!(" [{}]", devices.join(", ")) } else { String::new() };
        let signature = violation.signature(evidence.op.name);
        let detail = wanted(violation).then(|| format!("          {}", violation.detail));
        std::iter::once(format!("{label:<9} FAIL {signature}{on}")).chain(detail)
    });
    shown.collect()
}

/// The case, its contract, and what happened on each device, in the form of `shown`.
fn details(evidence: &Evidence, shown: fn(&Outcome) -> String) -> Vec<String> {
    let case = evidence.case;
    let mut lines = vec![
        case.to_text().trim_end().to_string(),
        String::new(),
        format!("call      {}", call(evidence.op, case).replace('\n', "\n          ")),
        format!("promised  {}", promised(&evidence.contract)),
        format!("source    {}", evidence.op.promise),
    ];
    for seen in evidence.observations {
        lines.push(format!("{:<9} {}", seen.device.to_string(), shown(&seen.outcome)));
        if values::shows_outside_of_a_view(case, &seen.outcome) {
            lines.push(format!("  {:?} comes from {}", View::POISON, values::OUTSIDE));
        }
        let mut reports = &seen.device_reports.reports[..];
        while let [DeviceReport { kind, message, .. }, rest @ ..] = reports {
            lines.push(format!("  report  {kind}: {message}"));
            // Once for all reports of the kind.
            if rest.iter().all(|later| later.kind != *kind) {
                lines.push(format!("  help    {}", kind.help()));
            }
            reports = rest;
        }
        lines.extend(seen.device_reports.facts.iter().map(|fact| format!("  fact    {fact}")));
        if let Some(again) = &seen.again {
            lines.push(format!("  again   {}", again.summary()));
        }
        if let Some(contiguous) = &seen.contiguous {
            lines.push(format!("  contiguous: {}", contiguous.summary()));
        }
        if let (Some(sibling), Some((other, _))) = (&seen.sibling, crate::ops::sibling(case)) {
            lines.push(format!("  {}: {}", other.name, sibling.summary()));
        }
        for (sample, alone) in crate::ops::own::samples(case).iter().zip(&seen.samples) {
            lines.push(format!("  sample {} alone: {}", sample.place, alone.summary()));
        }
    }
    lines
}

/// A contract in one line.
pub fn promised(contract: &Contract) -> String {
    match contract {
        Contract::Accepts { outputs, refusal } => {
            let outputs: Vec<String> = outputs.iter().map(|(dtype, shape)| format!("{dtype}{shape:?}")).collect();
            let or = refusal.map_or_else(String::new, |why| format!(", or an Err: {why}"));
            format!("Ok with {}{or}", outputs.join(", "))
        }
        Contract::Rejects(rule) => format!("an Err: {rule}"),
        Contract::Unspecified(why) => format!("unspecified, but Ok or Err on all devices alike: {why}"),
    }
}
