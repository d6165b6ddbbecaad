//! Reports for people: a case, its contract and what happened.

mod junit;
mod markdown;
mod sarif;
pub mod site;
mod summary;
mod words;

use crate::ops::Contract;
use crate::oracle::{Evidence, Verdict};
use crate::program::call;

pub use junit::junit;
pub use markdown::Report;
pub use sarif::{location, sarif};
pub use summary::{Found, Group, Item, Ran, Summary};
pub use words::sentence;

/// The report as plain text.
pub fn text(evidence: &Evidence, verdict: &Verdict) -> String {
    let mut lines = vec![
        evidence.case.to_text().trim_end().to_string(),
        String::new(),
        format!("call      {}", call(evidence.op, evidence.case).replace('\n', "\n          ")),
        format!("promised  {}", promised(&evidence.contract)),
        format!("source    {}", evidence.op.promise),
    ];
    for seen in evidence.observations {
        lines.push(format!("{:<9} {}", seen.device.to_string(), seen.outcome.summary()));
        let reports =
            seen.device_reports.reports.iter().map(|report| format!("  report  {}: {}", report.kind, report.message));
        lines.extend(reports);
        lines.extend(seen.device_reports.facts.iter().map(|fact| format!("  fact    {fact}")));
        if let Some(again) = &seen.again {
            lines.push(format!("  again   {}", again.summary()));
        }
        if let Some(contiguous) = &seen.contiguous {
            lines.push(format!("  contiguous: {}", contiguous.summary()));
        }
    }
    lines.push(match verdict {
        Verdict::Pass => "verdict   pass".to_string(),
        Verdict::Skip(why) => format!("verdict   skip: {why}"),
        Verdict::Fail(violation) => {
            format!("verdict   FAIL {}\n          {}", violation.signature(evidence.op.name), violation.detail)
        }
    });
    lines.join("\n") + "\n"
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
        Contract::Unspecified(why) => format!("nothing: {why}"),
    }
}
