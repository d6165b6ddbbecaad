//! The cause of a finding in a report: where and why it happens, and the change that fixes it.

use std::fmt::Write as _;

use super::markdown::text::fenced;
use super::words::device;
use crate::causes::RootCause;

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

    /// PyTorch's behaviour, the way around it, and the change that fixes it, with its proof.
    pub(super) fn markdown(self) -> String {
        let Self { cause, change, .. } = self;
        let mut text = String::new();
        let mut line = |label: &str, said: &str| {
            let _ = write!(text, "\n{label} {}\n", said.trim());
        };
        cause.pytorch.iter().for_each(|said| line("PyTorch:", said));
        cause.workaround.iter().for_each(|said| line("Workaround:", said));
        let Some(change) = change else { return text };
        let _ = write!(text, "\n## A change that fixes it\n\n{}", fenced("diff", change));
        if let Some(proof) = cause.proof.as_ref().filter(|_| cause.is_proven()) {
            let devices: Vec<String> = proof.devices.iter().map(|&on| device(on)).collect();
            let on = devices.join(" and ");
            let (fixes, of) = match cause.passing() {
                0 => (proof.fixes.len(), ""),
                own => (own, " of this bug"),
            };
            let fixed = if fixes == 1 {
                format!("a failing case{of} passes")
            } else {
                format!("{fixes} failing cases{of} pass")
            };
            let others = proof.run.saturating_sub(proof.fixes.len());
            let _ = writeln!(
                text,
                "\nWith this change {fixed} on {on}. {others} other cases were run: none that passed fails."
            );
        }
        text
    }
}
