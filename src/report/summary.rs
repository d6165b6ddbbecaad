//! Campaigns and new findings as Markdown, for the summary of a CI job.

use std::fmt::Write as _;

use crate::store::regression::TriageState;
use crate::store::{Finding, Record};

/// How many new findings are listed.
const LISTED: usize = 50;

/// The campaigns, and the findings that are new by their triage states.
pub fn summary(campaigns: &[Record], findings: &[(String, Finding)], triage_states: &[TriageState]) -> String {
    let mut text = String::from("| campaign | devices | cases | passed | skipped | failed | canaries | seconds |\n");
    text += "|---|---|---|---|---|---|---|---|\n";
    for record in campaigns {
        text += &row(record);
    }
    let found = findings.iter().zip(triage_states);
    let new: Vec<_> = found.filter(|(_, triage_state)| triage_state.is_news()).collect();
    let _ = write!(text, "\n{} findings, {} of them new.\n", findings.len(), new.len());
    for ((name, finding), triage_state) in new.iter().take(LISTED) {
        let (signature, detail, triage_state) = (&finding.signature, &finding.violation.detail, triage_state.word());
        let _ = write!(text, "\n- **{signature}** ({triage_state})\n  {detail}\n  `{name}`\n");
    }
    if new.len() > LISTED {
        let _ = write!(text, "\nand {} more\n", new.len() - LISTED);
    }
    text
}

/// What kind of campaign it was, in words.
pub(super) fn description(record: &Record) -> String {
    match (record.imported, record.shard.as_str()) {
        (true, _) => "imported cases".to_string(),
        (false, "") => format!("hunt, seed {}", record.seed),
        (false, shard) => format!("hunt, seed {}, shard {shard}", record.seed),
    }
}

fn row(record: &Record) -> String {
    let description = description(record);
    let total = &record.tally.total;
    let planted = record.tally.canaries.values().fold((0, 0), |(right, all), (r, a)| (right + r, all + a));
    let canaries = match planted {
        (_, 0) => "at the start".to_string(),
        (right, all) => format!("{right} of {all}"),
    };
    format!(
        "| {description} | {} | {} | {} | {} | {} | {canaries} | {:.0} |\n",
        record.devices.join(", "),
        total.cases,
        total.passed,
        total.skipped,
        total.failed,
        record.seconds
    )
}
