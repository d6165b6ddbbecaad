//! The cause of a finding in a report: where and why it happens, and the change that fixes it.

use std::fmt::Write as _;

use super::markdown::text::{fenced, unwrapped};
use super::words::{SNUFFER, device};
use crate::causes::{Proof, RootCause};

/// The cause of a finding.
#[derive(Debug, Clone, Copy)]
pub struct Why<'a> {
    /// The cause.
    pub cause: &'a RootCause,
    /// Where it is, in Markdown; none if only the cause says it.
    pub places: &'a [String],
    /// The change of candle that fixes it, as a unified diff.
    pub change: Option<&'a str>,
    /// True if the report is about the cause, of which the finding is an example.
    pub is_asked: bool,
}

impl Why<'_> {
    /// Why and where it happens, and since when.
    pub(super) fn explanation(self) -> String {
        let cause = self.cause;
        let places = if self.places.is_empty() { cause.places() } else { self.places.to_vec() };
        format!("{}\n\n{}", unwrapped(&cause.explanation), located(cause, &places))
    }

    /// The change that fixes it, with its proof.
    pub(super) fn fix(self) -> String {
        let (cause, Some(change)) = (self.cause, self.change) else { return String::new() };
        let about = cause.about_fix.as_ref().map_or_else(String::new, |about| unwrapped(about) + "\n\n");
        let mut text = format!("\n## A change that fixes it\n\n{about}{}", fenced("diff", change));
        if let Some(proof) = cause.proof.as_ref().filter(|_| cause.is_proven()) {
            let _ = writeln!(text, "\n{}", checked(cause, proof));
        }
        text
    }
}

/// The checks of the fix that `proof` records, in a sentence. candle's own tests are none of them.
fn checked(cause: &RootCause, proof: &Proof) -> String {
    let (fixes, why) = match cause.passing() {
        0 => (proof.fixes.len(), ""),
        own => (own, " because of this bug"),
    };
    let passing = match fixes {
        1 => format!("1 input that fails today{why} passes"),
        _ => format!("{fixes} inputs that fail today{why} pass"),
    };
    let others = proof.run.saturating_sub(proof.fixes.len());
    let on: Vec<String> = cause.shown_on(&proof.devices).into_iter().map(device).collect();
    let among = if proof.among > 1 { ", in builds that also held other fixes" } else { "" };
    format!(
        "Checked with {SNUFFER} ({}){among}: with this change {passing}, and of {others} other inputs, none that passes today fails.",
        on.join("; ")
    )
}

/// The places of `cause` in Markdown, a line for each if there are several, and since when it is there.
pub(super) fn located(cause: &RootCause, places: &[String]) -> String {
    let since = cause.since.as_ref().map_or_else(String::new, |since| format!("{since}."));
    match places {
        [place] if since.is_empty() => format!("In {place}."),
        [place] => format!("In {place}. {since}"),
        several => {
            let lines: Vec<String> = several.iter().map(|place| format!("- {place}")).collect();
            format!("{}\n\n{since}", lines.join("\n")).trim_end().to_string()
        }
    }
}
