//! Checks that a program does the same as its case.

use crate::case::{Backward, Case};
use crate::exec::Ran;
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

/// Whether a program printed the case's values and gradients.
fn prints(case: &Case, returned: &Returned, stdout: &str) -> bool {
    let has_gradients = matches!(&returned.backward, Gradients::Returned(_));
    // The worker asks for no gradient of empty outputs; the program cannot know that they are empty.
    let is_empty = returned.outputs.iter().all(|output| output.elements() == Some(0));
    if has_gradients != stdout.contains("gradient of ") && !is_empty {
        return false;
    }
    if let Gradients::Returned(store) = &returned.backward
        && (store.missing.iter().any(|name| !stdout.contains(&format!("no gradient of {name}\n")))
            || store.gradients.keys().any(|name| !stdout.contains(&format!("\ngradient of {name}:\n"))))
    {
        return false;
    }
    // Random values differ from run to run: these programs print facts about them instead.
    if case.op.starts_with("random.") || case.op == "op.dropout" {
        return true;
    }
    let values = stdout.split("gradient of ").next().unwrap_or_default();
    let mut numbers = values.split(['[', ']', ',', ' ', '\n']).filter_map(|word| word.parse::<f64>().ok()).fuse();
    let mut expected =
        returned.outputs.iter().flat_map(|output| output.floats().into_iter().map(|value| (output.dtype, value)));
    let same = |(dtype, value): (DType, f64)| {
        let narrow = |value: f64| if dtype == DType::F64 { value } else { f64::from(value as f32) };
        numbers.next().is_some_and(|number| {
            narrow(number).to_bits() == narrow(value).to_bits() || number.is_nan() && value.is_nan()
        })
    };
    expected.all(same) && numbers.next().is_none()
}
