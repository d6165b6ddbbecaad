//! The text with which a check ends.

use std::fmt::Write as _;
use std::path::Path;

use super::Counts;
use crate::device::Device;
use crate::exec::is_watched;
use crate::ops::{Op, own};
use crate::oracle::Signature;
use crate::program::{ProgramOptions, outputs, program};
use crate::report::sentence;
use crate::store::Finding;

/// A failure: what is wrong, on which devices, the case, how to run it again, and a program that shows it.
pub fn report(op: &Op, finding: &Finding, others: &[(&Signature, &str)], kept: Option<&Path>) -> String {
    let mut text = format!("{}\n\n  {}\n\n", sentence(&finding.signature), finding.violation.detail);
    for seen in &finding.observations {
        let _ = writeln!(text, "  {:<6} {}", seen.device.to_string(), seen.outcome.summary());
        if let Some(contiguous) = &seen.contiguous {
            let _ = writeln!(text, "  {:<6} {} (contiguous inputs)", "", contiguous.summary());
        }
        if let Some(sibling) = &seen.sibling {
            let name = crate::ops::sibling(&finding.case).map_or("the same", |(sibling, _)| sibling.name);
            let _ = writeln!(text, "  {:<6} {} ({name})", "", sibling.summary());
        }
        for (sample, alone) in own::samples(&finding.case).iter().zip(&seen.samples) {
            let _ = writeln!(text, "  {:<6} {} (sample {} alone)", "", alone.summary(), sample.place);
        }
    }
    // The weights of a module have names that no variable can have.
    let has_names = finding.case.inputs.keys().all(|name| !name.contains('.'));
    let seen = finding.observations.iter().find(|seen| seen.device == finding.violation.device);
    if let Some(seen) = seen.filter(|_| has_names) {
        let outputs = outputs(&seen.outcome);
        let options = ProgramOptions { device: seen.device, comments: &[], outputs: &outputs };
        if let Ok(program) = program(op, &finding.case, &options) {
            let _ = write!(text, "\nAs a program:\n\n{}", indented(&program));
        }
    }
    let _ = write!(text, "\nThe smallest case that fails so:\n\n{}", indented(&finding.case.to_text()));
    for (other, detail) in others {
        let _ = write!(text, "\nAlso seen, and perhaps of the same cause: {}\n  {detail}\n", sentence(other));
    }
    if let Some(path) = kept {
        let _ = write!(text, "\nKept in {}; the next check runs it first.", path.display());
    }
    let test = std::thread::current().name().filter(|name| *name != "main").unwrap_or_default().to_string();
    let command = if is_watched() { "cargo snuffer test --features cuda" } else { "cargo test" };
    let _ = write!(text, "\nRun it again: {command} {test}");
    text
}

/// No case was accepted.
pub fn vacuous(op: &Op, ran: u64, refusal: Option<&str>) -> String {
    let why = refusal.map(|message| format!("; the last Err: {message}")).unwrap_or_default();
    format!(
        "{}: none of {ran} cases was accepted, so nothing was checked{why}. Does the definition fit the call?",
        op.name
    )
}

/// What ran, in a line.
pub fn passed(op: &Op, devices: &[Device], counts: &Counts) -> String {
    let devices: Vec<String> = devices.iter().map(ToString::to_string).collect();
    let Counts { ran, accepted, with_gradients, .. } = counts;
    let on = devices.join(" and ");
    format!(
        "{}: {ran} cases on {on}, {accepted} accepted, {with_gradients} with gradients compared, none failed",
        op.name
    )
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |all, line| all + "    " + line + "\n")
}
