//! The cause of a finding in a report: where and why it happens, and the change that fixes it.

use std::fmt::Write as _;

use super::markdown::text::fenced;
use super::words::device;
use crate::causes::{Hit, RootCause, some_of};

/// The cause of a finding.
#[derive(Debug, Clone, Copy)]
pub struct Why<'a> {
    /// The cause.
    pub cause: &'a RootCause,
    /// Where it is, in Markdown; as the cause says it, if there are no links.
    pub places: Option<&'a str>,
    /// The change of candle that fixes it, as a unified diff.
    pub change: Option<&'a str>,
    /// True if the report is about the cause, of which the finding is an example.
    pub is_asked: bool,
}

impl Why<'_> {
    /// Why and where it happens, and since when.
    pub(super) fn explanation(self) -> String {
        let cause = self.cause;
        let since = cause.since.as_ref().map_or_else(String::new, |since| format!(" Since candle {since}."));
        let places = self.places.map_or_else(|| cause.places(), ToString::to_string);
        format!("\n\n{}\n\nIn {places}.{since}", cause.explanation.trim())
    }

    /// What PyTorch does, who runs into it, the way around it, and the change that fixes it, with its proof.
    pub(super) fn markdown(self) -> String {
        let Self { cause, change, .. } = self;
        let mut text = String::new();
        let mut line = |label: &str, said: &str| {
            let _ = write!(text, "\n{label} {}\n", said.trim());
        };
        cause.pytorch.iter().for_each(|said| line("PyTorch:", said));
        // No model makes rare or invalid calls.
        if cause.hit == Hit::Ordinary && !cause.models.is_empty() {
            line("The function is used by", &format!("{}.", some_of(&cause.models)));
        }
        cause.workaround.iter().for_each(|said| line("Workaround:", said));
        let Some(change) = change else { return text };
        let _ = write!(text, "\n## A change that fixes it\n\n{}", fenced("diff", change));
        if let Some(proof) = cause.proof.as_ref().filter(|_| cause.is_proven()) {
            let devices: Vec<String> = proof.devices.iter().map(|&on| device(on)).collect();
            let (fixes, on) = (proof.fixes.len(), devices.join(" and "));
            let fixed =
                if fixes == 1 { "a failing case passes".to_string() } else { format!("{fixes} failing cases pass") };
            let others = proof.run.saturating_sub(fixes);
            let _ =
                writeln!(text, "\nWith this change {fixed} on {on}. Of {others} other cases, none that passed fails.");
        }
        text
    }
}
