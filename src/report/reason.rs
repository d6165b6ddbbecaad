//! Why a case fails, in a sentence: the bad label of an assert, what a panic says, a wrong value.

use super::values::wrong_elements;
use crate::examine::BadId;
use crate::ops::{Contract, sequence};
use crate::oracle::{Evidence, Kind, OracleName, Violation};
use crate::outcome::{Fault, Gradients, Outcome};

/// Why the case fails: `label 10 of 10 classes: 10 < 10 is false`.
pub fn reason(evidence: &Evidence, violation: &Violation) -> String {
    let bad_id = bad_id(evidence).map(|bad| bad.to_string());
    let seen = evidence.observations.iter().find(|seen| seen.device == violation.device);
    match (seen.map(|seen| &seen.outcome), &evidence.contract) {
        (Some(Outcome::Faulted(fault)), _) => faulted(fault, bad_id),
        (Some(Outcome::Panicked(panic)), _) => format!("{} ({})", first_line(&panic.message), panic.place),
        (Some(Outcome::Returned(_)), _) if violation.oracle == OracleName::Checker => {
            // The rest says where.
            let report = violation.detail.split_once("; ").map_or(violation.detail.as_str(), |(report, _)| report);
            format!("the device reports “{}”", first_line(report))
        }
        (Some(Outcome::Returned(_)), Contract::Rejects(rule)) => {
            format!("{} is not rejected", bad_id.unwrap_or_else(|| (*rule).to_string()))
        }
        (Some(Outcome::Rejected(refusal)), Contract::Accepts { .. }) if violation.kind == Kind::RefusedValid => {
            format!("a valid call is rejected: {}", first_line(&refusal.message))
        }
        (Some(Outcome::Returned(returned)), _) => match (&returned.backward, &violation.kind) {
            (Gradients::Rejected(refusal), Kind::RefusedGradient | Kind::NotSupported) => {
                format!("the backward pass is rejected: {}", first_line(&refusal.message))
            }
            (Gradients::Returned(store), Kind::MissingGradient) => {
                format!("no gradient of {}", store.missing.join(", "))
            }
            _ => wrong_value(evidence, violation),
        },
        _ => first_line(&violation.detail).to_string(),
    }
}

/// The bad id of the call, or of the last step of a sequence.
pub fn bad_id(evidence: &Evidence) -> Option<BadId> {
    let in_steps = || sequence::placed(evidence.case).last().and_then(|step| BadId::find(step.op, &step.call));
    BadId::find(evidence.op, evidence.case).or_else(in_steps)
}

fn faulted(fault: &Fault, bad_id: Option<String>) -> String {
    let parts: Vec<&str> = fault.message.split("; ").collect();
    let part = |is: fn(&str) -> bool| parts.iter().copied().find(|part| is(part));
    // What the assertion compared, without the type.
    let compared =
        part(|part| part.contains(" is false")).map(|part| part.rsplit_once(" (").map_or(part, |(it, _)| it));
    let assertion = || part(|part| part.contains(ASSERTION)).and_then(|part| Some(&part[part.find(ASSERTION)?..]));
    let what = bad_id.or_else(|| assertion().map(|text| text.trim_end_matches('.').to_string()));
    let where_to = part(|part| part.starts_with("and is ")).map(|part| &part["and is ".len()..]);
    match (what, compared, where_to) {
        (Some(what), Some(compared), _) => format!("{what}: {compared}"),
        (Some(what), None, _) => what,
        (None, _, Some(where_to)) => format!("{}, {where_to}", parts[0]),
        (None, _, None) => parts[0].to_string(),
    }
}

/// How the text of a failed assertion begins.
const ASSERTION: &str = "Assertion `";

fn wrong_value(evidence: &Evidence, violation: &Violation) -> String {
    match wrong_elements(evidence, violation).first() {
        Some(one) => {
            let within = one.within.as_ref().map_or_else(String::new, |within| format!(" ± {within}"));
            let element = if one.place.starts_with('[') { "element " } else { "" };
            format!("{element}{} is {}; expected {}{within}", one.place, one.got, one.expected)
        }
        None => first_line(&violation.detail).to_string(),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
