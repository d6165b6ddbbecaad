//! The cause of a finding in a report: where and why it happens, and the change that fixes it.

use super::markdown::text::{fenced, unwrapped};
use crate::causes::RootCause;

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
        text.extend(proven(cause).map(|proof| format!("\n{proof}\n")));
        text
    }
}

/// The proof of the fix of `cause` in a sentence, if it is proven. candle's own tests are no part of it.
pub(super) fn proven(cause: &RootCause) -> Option<String> {
    let proof = cause.proof.as_ref().filter(|_| cause.is_proven())?;
    let turned = match proof.fixes.len() {
        1 => "1 generated case goes".to_string(),
        several => format!("{several} generated cases go"),
    };
    let others = match proof.run.saturating_sub(proof.fixes.len()) {
        1 => "1 other is unchanged".to_string(),
        several => format!("{several} others are unchanged"),
    };
    let together = if proof.among > 1 { " (applied together with other fixes)" } else { "" };
    Some(format!("With the change, {turned} from fail to pass and {others}{together}."))
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
