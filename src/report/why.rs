//! The cause of a finding in a report: where and why it happens, and the change that fixes it.

use std::fmt::Write as _;

use super::markdown::text::fenced;
use super::words::device;
use crate::causes::{RootCause, some_of};

/// The cause of a finding.
#[derive(Debug, Clone, Copy)]
pub struct Why<'a> {
    /// The cause.
    pub cause: &'a RootCause,
    /// The change of candle that fixes it, as a unified diff.
    pub change: Option<&'a str>,
    /// True if the report is about the cause, of which the finding is an example.
    pub is_asked: bool,
}

impl Why<'_> {
    /// Where and why it happens, who runs into it, the way around it, and the change that fixes it, with its proof.
    pub(super) fn markdown(self) -> String {
        let Self { cause, change, .. } = self;
        let places: Vec<String> = cause.at.iter().map(|place| format!("`{place}`")).collect();
        let mut text = format!("\n## Why\n\n{}\n\nIn {}.\n", cause.explanation.trim(), places.join(", "));
        let mut line = |label: &str, said: &str| {
            let _ = write!(text, "\n{label} {}\n", said.trim());
        };
        cause.since.iter().for_each(|since| line("Since:", &format!("candle {since}.")));
        cause.pytorch.iter().for_each(|said| line("PyTorch:", said));
        if !cause.models.is_empty() {
            line("Called, whatever the arguments, by", &format!("{}.", some_of(&cause.models)));
        }
        cause.workaround.iter().for_each(|said| line("Until it is fixed:", said));
        let Some(change) = change else { return text };
        let _ = write!(text, "\n## A change that fixes it\n\n{}", fenced("diff", change));
        if let Some(proof) = cause.proof.as_ref().filter(|_| cause.is_proven()) {
            let devices: Vec<String> = proof.devices.iter().map(|&on| device(on)).collect();
            let (fixes, run, on) = (proof.fixes.len(), proof.run, devices.join(" and "));
            let _ = write!(text, "\nWith it, {fixes} of {run} known failures pass on {on}. ");
            text += "No case fails on a device where it passed before.\n";
        }
        text
    }
}
