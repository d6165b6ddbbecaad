//! What should happen instead, as an issue says it: never what did happen.

use super::markdown::text::inline;
use super::promised;
use super::values::{WrongElement, wrong_elements};
use crate::ops::Contract;
use crate::oracle::{Evidence, Kind, OracleName, Violation};

/// The code that a report shows above what should happen, and how far its output is what should be otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Above {
    /// A program that prints the wrong value and nothing else.
    PrintsOneValue,
    /// A program that prints the wrong values, among others or in another form.
    PrintsValues,
    /// A program that prints other wrong values in each run.
    PrintsOtherValues,
    /// A call that was not run for the report.
    NotRun,
}

/// The most wrong elements that a report lists.
const LISTED: usize = 4;

/// The values that should be returned instead of wrong ones, as a table; `None` if something else is wrong.
pub fn values_expected(evidence: &Evidence, violation: &Violation, above: Above) -> Option<String> {
    let wrong = wrong_elements(evidence, violation);
    let is_about_values =
        matches!(violation.kind, Kind::WrongValue) && matches!(evidence.contract, Contract::Accepts { .. });
    (is_about_values && !wrong.is_empty()).then(|| table(&wrong, above))
}

/// What should happen, in Markdown.
pub fn expected(evidence: &Evidence, violation: &Violation, above: Above) -> String {
    let wrong = wrong_elements(evidence, violation);
    match (&evidence.contract, violation.oracle, &violation.kind) {
        (_, OracleName::Documentation, _) => {
            format!("The documented behaviour, or an `Err`: {}.", inline(&violation.detail))
        }
        (_, OracleName::Cost, _) => {
            "The same result, with memory and work in proportion to the inputs and outputs.".to_string()
        }
        (_, OracleName::Siblings, Kind::OnlyOneAccepts) => {
            "Both calls are accepted, or both are rejected: they are equivalent.".to_string()
        }
        (_, OracleName::Invariant, _) => format!("A different value: {}.", inline(&violation.detail)),
        (_, OracleName::Samples, _) => "The same result for a sample, alone and in a batch.".to_string(),
        (_, OracleName::Training, Kind::WrongValue) => {
            "A finite loss in each step, the same on every device.".to_string()
        }
        (_, OracleName::Training, Kind::MissingGradient) => "A gradient of each parameter in each step.".to_string(),
        (_, OracleName::Training, Kind::RefusedValid) => "`Ok` in each step.".to_string(),
        (_, OracleName::Training, _) => "The same result in every run.".to_string(),
        (_, OracleName::Siblings, _) => "The same result from both calls: they are equivalent.".to_string(),
        (Contract::Unspecified(_), OracleName::Agreement, Kind::WrongShape | Kind::WrongDtype) => {
            "Outputs of the same shape and dtype on every device.".to_string()
        }
        (Contract::Unspecified(_), OracleName::Agreement, _) => {
            "Every device accepts the call, or every device rejects it.".to_string()
        }
        (_, OracleName::Layout, Kind::Limitation) => "Both layouts are accepted, or both are rejected.".to_string(),
        (_, _, Kind::Limitation) => "The same result as for contiguous inputs.".to_string(),
        (Contract::Unspecified(why), ..) => {
            format!("`Ok` or an `Err`: the result is not specified ({why}), but the call must return.")
        }
        (Contract::Rejects(_), ..) => format!("{}.", sentence(&promised(&evidence.contract))),
        (_, OracleName::Checker, _) => "The same result, and no report of an error on the device.".to_string(),
        (_, OracleName::Determinism, _) => "The same result in every run.".to_string(),
        (_, OracleName::Layout, _) => "The same result as for contiguous inputs.".to_string(),
        (_, OracleName::Agreement, Kind::OnlyOneAccepts) => "Every device accepts the call.".to_string(),
        (_, OracleName::Agreement, _) => "The same result on every device.".to_string(),
        (_, OracleName::SecondDerivative, _) => format!("Different second derivatives: {}.", inline(&violation.detail)),
        (_, OracleName::Gradient, Kind::MissingGradient | Kind::RefusedGradient | Kind::NotSupported) => {
            format!("`Ok`, and a gradient of {}.", with_gradient(evidence).join(" and of "))
        }
        (_, _, Kind::WrongValue) if !wrong.is_empty() => table(&wrong, above),
        (_, _, Kind::WrongValue) => format!("A different value: {}.", inline(&violation.detail)),
        _ => format!("{}{}.", sentence(&promised(&evidence.contract)), and_gradients(evidence)),
    }
}

/// The only wrong element in a sentence, or several in a table.
fn table(wrong: &[WrongElement], above: Above) -> String {
    match wrong {
        [one] => single(one, above),
        several => listed(several, above),
    }
}

fn single(WrongElement { place, got, expected, within }: &WrongElement, above: Above) -> String {
    let within = within.as_ref().map_or_else(String::new, |within| format!(" (± {within})"));
    if above == Above::PrintsOneValue {
        return format!("The program above should print {expected}{within}; it prints {got}.");
    }
    let element = if place.starts_with('[') { format!("Element {place}") } else { sentence(place) };
    format!("{} should be {expected}{within}, not {got}.", inline(&element))
}

fn listed(wrong: &[WrongElement], above: Above) -> String {
    let of = match above {
        Above::PrintsOneValue | Above::PrintsValues => "For the program above",
        Above::PrintsOtherValues => "In another run of the program above",
        Above::NotRun => "For the call above",
    };
    let has_bounds = wrong.iter().any(|element| element.within.is_some());
    let (title, rule) = if has_bounds { (" allowed error |", "---|") } else { ("", "") };
    let mut text = format!("{of}:\n\n| element | expected |{title} got |\n|---|---|{rule}---|\n");
    for WrongElement { place, got, expected, within } in wrong.iter().take(LISTED) {
        let within = within.as_deref().unwrap_or("0");
        let within = if has_bounds { format!(" {within} |") } else { String::new() };
        text += &format!("| {} | {expected} |{within} {got} |\n", inline(place));
    }
    match wrong.len().saturating_sub(LISTED) {
        0 => {}
        1 => text += "\nOne more element is wrong.\n",
        more => text += &format!("\n{more} more elements are wrong.\n"),
    }
    text.trim_end().to_string()
}

fn with_gradient(evidence: &Evidence) -> Vec<String> {
    let names = evidence.case.inputs.keys().filter(|name| evidence.op.has_gradient(evidence.case, name));
    names.map(|name| format!("`{name}`")).collect()
}

fn and_gradients(evidence: &Evidence) -> String {
    match with_gradient(evidence) {
        names if names.is_empty() => String::new(),
        names => format!(", and a gradient of {}", names.join(" and of ")),
    }
}

/// `text` with a capital letter.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
