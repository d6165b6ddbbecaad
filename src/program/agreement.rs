//! Checks that a program does the same as its case.

use std::collections::BTreeMap;

use crate::case::{Backward, Case};
use crate::exec::Ran;
use crate::oracle::Evidence;
use crate::outcome::{Gradients, Outcome, Returned};
use crate::tensor::DType;

/// Whether the run of a program of `case` matches `outcome`: the same values and presence of gradients, or the same error,
/// panic or death.
pub fn agrees(case: &Case, outcome: &Outcome, ran: &Ran) -> bool {
    // An error's first line: a backtrace may follow it.
    let reports = |message: &str| ran.stderr.contains(message.lines().next().unwrap_or_default());
    let refuses = |message: &str| ran.code == Some(1) && reports(message);
    if !ran.ended {
        return matches!(outcome, Outcome::TimedOut(_));
    }
    match outcome {
        Outcome::Returned(returned) => {
            let finished = match &returned.backward {
                Gradients::Rejected(refusal) => refuses(&refusal.message),
                // The worker skips missing second derivatives; the program may fail at them.
                Gradients::Returned(store) if store.second.is_empty() && case.backward == Backward::Twice => true,
                _ => ran.code == Some(0),
            };
            finished && prints(case, returned, &ran.stdout)
        }
        Outcome::Rejected(refusal) => refuses(&refusal.message),
        Outcome::Panicked(panic) => ran.code == Some(101) && reports(&panic.message),
        // A device's error shows late, at the next call that waits for the device.
        Outcome::Faulted(_) => ran.code != Some(0),
        Outcome::Died(_) | Outcome::StackOverflow(_) => ran.code.is_none(),
        // A failed allocation aborts the process or is an `Err`.
        Outcome::OutOfMemory(_) => ran.code != Some(0),
        Outcome::TimedOut(_) | Outcome::Unsupported(_) => false,
    }
}

/// How far the run of a program shows what a finding says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// It does the same, to the bit.
    Same,
    /// The same elements are wrong, but have other values: they differ from run to run, as with reads of foreign memory.
    OtherValues,
    /// It does something else.
    Different,
}

/// How far the run of a program agrees with what its case did on a device.
pub fn agreement(evidence: &Evidence, outcome: &Outcome, ran: &Ran) -> Agreement {
    match outcome {
        _ if agrees(evidence.case, outcome, ran) => Agreement::Same,
        Outcome::Returned(returned)
            if ran.ended && ran.code == Some(0) && prints_other_values(evidence, returned, &ran.stdout) =>
        {
            Agreement::OtherValues
        }
        _ => Agreement::Different,
    }
}

/// Whether a program printed the case's values and gradients.
fn prints(case: &Case, returned: &Returned, stdout: &str) -> bool {
    // Random values differ from run to run: these programs print facts about them instead.
    let is_random = case.op.starts_with("random.") || case.op == "op.dropout";
    let (printed, expected) = (numbers(stdout), values(returned));
    has_the_gradients(returned, stdout)
        && (is_random
            || printed.len() == expected.len()
                && printed.iter().zip(expected).all(|(number, value)| is_same(*number, value)))
}

/// Whether exactly the elements that are wrong have other values, and these are wrong as well.
fn prints_other_values(evidence: &Evidence, returned: &Returned, stdout: &str) -> bool {
    let (printed, seen) = (numbers(stdout), values(returned));
    if printed.len() != seen.len() || !has_the_gradients(returned, stdout) {
        return false;
    }
    let mut wrong = BTreeMap::new();
    let mut before = 0;
    for (expected, output) in evidence.expectations(returned).into_iter().zip(&returned.outputs) {
        let its = expected.into_iter().filter(|one| !one.kept).map(|one| (before + one.position, one));
        wrong.extend(its);
        before += output.elements().unwrap_or_default();
    }
    let fits = |(position, (number, value)): (usize, (&f64, (DType, f64)))| match wrong.get(&position) {
        Some(expected) => (number - expected.value).abs() > expected.within || number.is_nan(),
        None => is_same(*number, value),
    };
    !wrong.is_empty() && printed.iter().zip(seen).enumerate().all(fits)
}

/// Whether a program printed the gradients that there are, and said which are missing.
fn has_the_gradients(returned: &Returned, stdout: &str) -> bool {
    let has_gradients = matches!(&returned.backward, Gradients::Returned(_));
    // The worker asks for no gradient of empty outputs; the program cannot know that they are empty.
    let is_empty = returned.outputs.iter().all(|output| output.elements() == Some(0));
    if has_gradients != stdout.contains("gradient of ") && !is_empty {
        return false;
    }
    let Gradients::Returned(store) = &returned.backward else { return true };
    store.missing.iter().all(|name| stdout.contains(&format!("no gradient of {name}\n")))
        && store.gradients.keys().all(|name| stdout.contains(&format!("\ngradient of {name}:\n")))
}

/// The values that a program printed before its gradients.
fn numbers(stdout: &str) -> Vec<f64> {
    let values = stdout.split("gradient of ").next().unwrap_or_default();
    values.split(['[', ']', ',', ' ', '\n']).filter_map(|word| word.parse().ok()).collect()
}

/// The values of all outputs.
fn values(returned: &Returned) -> Vec<(DType, f64)> {
    let outputs = returned.outputs.iter();
    outputs.flat_map(|output| output.floats().into_iter().map(|value| (output.dtype, value))).collect()
}

/// Whether a printed number is `value`, to the bit. A program prints what is narrower than f64 as f32.
fn is_same(number: f64, (dtype, value): (DType, f64)) -> bool {
    let narrow = |value: f64| if dtype == DType::F64 { value } else { f64::from(value as f32) };
    narrow(number).to_bits() == narrow(value).to_bits() || number.is_nan() && value.is_nan()
}
