//! The answer to the question of somebody who replays a call: is the call invalid, is candle wrong, or neither?

use schemars::JsonSchema;
use serde::Serialize;

use super::reason::{bad_id, reason};
use super::words::{failure, faults};
use crate::causes::{KnownFailures, RootCause, Sighting};
use crate::device::Device;
use crate::examine::BadId;
use crate::ops::{Contract, Op, Rule, own};
use crate::oracle::{Evidence, OracleName, Rank, Verdict, Violation};
use crate::outcome::{Gradients, Outcome, Returned};
use crate::tensor::Tensor;

/// What is at fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Blame {
    /// The call: candle may reject it. If candle does not, `verdict` says so.
    Call,
    /// candle: the call is valid, and its result is wrong.
    Candle,
    /// candle does not support the call, and says so.
    Unsupported,
    /// Nothing: NaN or infinity in the result is what the call computes.
    NotFinite,
    /// Nothing.
    Nothing,
    /// Nobody knows: nothing is promised of such a call.
    Open,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Answer {
    /// What is at fault.
    pub blame: Blame,
    /// The answer in a sentence: `your call is invalid: label 10 of 10 classes, at [2] of target`.
    pub sentence: String,
    /// What candle does with the call, the cause, and what to do; a line each.
    pub details: Vec<String>,
}

/// What an error of the device means for the process.
const LOST: &str = "every later CUDA call of the process then fails";

impl Answer {
    /// The answer about a case that was judged.
    pub fn new(evidence: &Evidence, verdict: &Verdict, known: &KnownFailures) -> Self {
        let violation = verdict.violations().first();
        let cause = violation.and_then(|violation| cause(evidence, violation, known));
        match (&evidence.contract, violation) {
            (Contract::Rejects(rule), _) => invalid(evidence, rule, cause, known),
            (_, Some(violation)) => wrong(evidence, violation, cause),
            (_, None) => right(evidence, verdict),
        }
    }

    /// The answer in lines.
    pub fn lines(&self) -> Vec<String> {
        let lines = std::iter::once(&self.sentence).chain(&self.details);
        lines.enumerate().map(|(nth, line)| format!("{:<9} {line}", if nth == 0 { "answer" } else { "" })).collect()
    }
}

/// The cause of `violation`.
fn cause<'a>(evidence: &Evidence, violation: &Violation, known: &'a KnownFailures) -> Option<&'a RootCause> {
    let signature = violation.signature(evidence.op.name);
    let devices = violation.devices().collect();
    known.cause_of(&Sighting { signature: &signature, case: evidence.case, devices, candle: None })
}

fn invalid(evidence: &Evidence, rule: &Rule, cause: Option<&RootCause>, known: &KnownFailures) -> Answer {
    let bad = bad_id(evidence);
    let broken = bad.as_ref().map_or_else(|| rule.to_string(), |bad| format!("{bad}, {}", bad.place()));
    let mut details = Vec::new();
    let mut does: Vec<(String, Vec<String>)> = Vec::new();
    for seen in evidence.observations {
        let (what, on) = (treatment(&seen.outcome), seen.device.to_string());
        match does.iter_mut().find(|(other, _)| *other == what) {
            Some((_, devices)) => devices.push(on),
            None => does.push((what, vec![on])),
        }
    }
    details.extend(does.into_iter().map(|(what, on)| format!("on {}, candle {what}", on.join(" and "))));
    if evidence.observations.iter().all(|seen| seen.device == Device::Cpu) {
        details.extend(on_cuda(evidence, rule, known));
    }
    details.extend(bad.iter().map(advice));
    details.extend(cause.map(|cause| format!("{} (`snuffer causes {}`)", named(cause), cause.name)));
    Answer { blame: Blame::Call, sentence: format!("your call is invalid: {broken}"), details }
}

/// The title of `cause`, and why it is no bug of candle if it is none.
fn named(cause: &RootCause) -> String {
    match &cause.note {
        Some(why) => format!("known, and no bug of candle: {}: {}", cause.title, one_line(why)),
        None => format!("cause: {}", cause.title),
    }
}

/// What candle does with an invalid call, to follow its name.
fn treatment(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Returned(_) => "accepts it without an error".to_string(),
        Outcome::Rejected(refusal) => {
            format!("rejects it: {}", refusal.message.lines().next().unwrap_or_default())
        }
        Outcome::Panicked(panic) => format!("panics at {}", panic.place),
        Outcome::Faulted(fault) => format!("{}; {LOST}", faults(&fault.kind)),
        Outcome::Died(_)
        | Outcome::StackOverflow(_)
        | Outcome::TimedOut(_)
        | Outcome::OutOfMemory(_)
        | Outcome::Unsupported(_) => format!("fails in another way: {}", outcome.summary()),
    }
}

/// What candle does on CUDA with a call of the op that breaks the same rule, if a regression keeps one whose context is lost.
fn on_cuda(evidence: &Evidence, rule: &Rule, known: &KnownFailures) -> Option<String> {
    let kept = known.regressions.iter().filter(|(_, kept)| kept.case.op == evidence.case.op);
    let mut faults = kept.filter_map(|(_, kept)| {
        let signature = kept.signature.as_ref().filter(|signature| signature.oracle == OracleName::Fault)?;
        (evidence.op.contract(&kept.case) == Contract::Rejects(Rule::find(rule.id)?)).then_some(signature)
    });
    faults.next().map(|signature| format!("on CUDA, candle {} for such a call; {LOST}", failure(signature)))
}

/// How to correct a bad id.
fn advice(bad: &BadId) -> String {
    let BadId { size, is_label, .. } = bad;
    let (noun, count) = bad.nouns();
    let valid = match size {
        0 => format!("no {noun} is valid"),
        1 => format!("the only {noun} is 0"),
        _ => format!("{noun}s are 0 to {}", size - 1),
    };
    let option = if *is_label { "--labels" } else { "--ids" };
    format!("{valid}: correct the data or the {count}; `snuffer guard {option}` checks a batch before the GPU sees it")
}

/// Whose promise the contract of `op` is.
fn judged(op: &Op) -> &'static str {
    if own::find(op.name).is_some() { "the op" } else { "candle" }
}

fn wrong(evidence: &Evidence, violation: &Violation, cause: Option<&RootCause>) -> Answer {
    let signature = violation.signature(evidence.op.name);
    let (blame, claim) = match signature.rank() {
        Rank::Limit => (Blame::Unsupported, "does not support this call"),
        Rank::Cost => (Blame::Candle, "is right, at too high a cost"),
        _ => (Blame::Candle, "is wrong"),
    };
    let claim = format!("{} {claim}", judged(evidence.op));
    let mut details = Vec::new();
    if signature.only_checkers_tell() {
        let unchecked = match violation.device {
            Device::Sim(_) => Some("a GPU does not check each access: there the call"),
            Device::Cpu => Some("without a check of each access, the call"),
            Device::Cuda(_) => None,
        };
        details.extend(unchecked.map(|call| format!("{call} may fail, return some value, or seem right")));
    }
    match cause {
        Some(cause) => {
            let fix = if cause.is_proven() { " and shows a proven fix" } else { "" };
            details.push(named(cause));
            details.extend(cause.workaround.iter().map(|what| format!("until it is fixed: {}", one_line(what))));
            details.push(format!("`snuffer causes {}` explains it{fix}", cause.name));
        }
        None => details.push("no known cause explains it".to_string()),
    }
    let seen = evidence.observations.iter().find(|seen| seen.device == violation.device);
    let panics = matches!(seen.map(|seen| &seen.outcome), Some(Outcome::Panicked(_)));
    let it = if panics { "it panics: " } else { "" };
    Answer { blame, sentence: format!("{claim}: {it}{}", reason(evidence, violation)), details }
}

/// The answer if candle breaks no promise.
fn right(evidence: &Evidence, verdict: &Verdict) -> Answer {
    let results = evidence.observations.iter().filter_map(|seen| match &seen.outcome {
        Outcome::Returned(returned) => not_finite(returned),
        _ => None,
    });
    let inputs = evidence.case.inputs.iter().find(|(_, tensor)| first_non_finite(tensor).is_some());
    let (blame, sentence) = match (results.into_iter().next(), inputs, verdict) {
        (Some(result), Some((input, _)), _) => (
            Blame::NotFinite,
            format!("{result} because `{input}` has NaN or infinity; {} breaks no promise", judged(evidence.op)),
        ),
        (Some(result), None, _) => (
            Blame::NotFinite,
            format!(
                "{result} although all inputs are finite; that is the result of the computation, and {} breaks no \
                     promise",
                judged(evidence.op)
            ),
        ),
        (None, _, Verdict::Skip(why)) => (Blame::Open, format!("undecided: {why}")),
        (None, _, Verdict::Partly(why)) => {
            (Blame::Nothing, format!("nothing is wrong, as far as the result is specified: {why}"))
        }
        (None, ..) => {
            (Blame::Nothing, format!("nothing is wrong: {} keeps every promise that was checked", judged(evidence.op)))
        }
    };
    let details = match blame {
        Blame::NotFinite => vec!["`snuffer replay --trace-nan` names the call that produces it".to_string()],
        _ => Vec::new(),
    };
    Answer { blame, sentence, details }
}

/// Which result is NaN or infinite: `output [0] is NaN`.
fn not_finite(returned: &Returned) -> Option<String> {
    let output = returned.outputs.iter().find_map(first_non_finite).map(|value| format!("the output is {value}"));
    output.or_else(|| match &returned.backward {
        Gradients::Returned(store) => store
            .gradients
            .iter()
            .find_map(|(name, grad)| Some(format!("the gradient of `{name}` is {}", first_non_finite(grad)?))),
        Gradients::NotAsked | Gradients::Rejected(_) => None,
    })
}

/// The first NaN or infinity of a tensor of floats, in words.
fn first_non_finite(tensor: &Tensor) -> Option<&'static str> {
    let value = tensor.dtype.is_float().then(|| tensor.floats().into_iter().find(|value| !value.is_finite()))??;
    Some(if value.is_nan() { "NaN" } else { "infinite" })
}

/// A text without line breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
