//! Whether a program did what its case does.

use crate::case::{Backward, Case};
use crate::exec::Ran;
use crate::outcome::{Gradients, Outcome, Returned};
use crate::tensor::DType;

/// Whether a program of `case` that `ran` did what the `outcome` says: the same values and gradients' presence, error, panic or
/// end.
pub fn agrees(case: &Case, outcome: &Outcome, ran: &Ran) -> bool {
    // An error's first line: a backtrace may follow it.
    let complains = |message: &str| ran.stderr.contains(message.lines().next().unwrap_or_default());
    let refuses = |message: &str| ran.code == Some(1) && complains(message);
    if !ran.ended {
        return matches!(outcome, Outcome::TimedOut(_));
    }
    match outcome {
        Outcome::Returned(returned) => {
            let finished = match &returned.backward {
                Gradients::Rejected(refusal) => refuses(&refusal.message),
                // The worker takes the second derivatives that there are.
                Gradients::Returned(store) if store.second.is_empty() && case.backward == Backward::Twice => true,
                _ => ran.code == Some(0),
            };
            finished && shows(case, returned, &ran.stdout)
        }
        Outcome::Rejected(refusal) => refuses(&refusal.message),
        Outcome::Panicked(panic) => ran.code == Some(101) && complains(&panic.message),
        // A device's error comes late, at whatever waits for the device.
        Outcome::Faulted(_) => ran.code != Some(0),
        Outcome::Died(_) | Outcome::StackOverflow(_) => ran.code.is_none(),
        // What cannot be allocated aborts, or is refused by who asked for it.
        Outcome::OutOfMemory(_) => ran.code != Some(0),
        Outcome::TimedOut(_) | Outcome::Unsupported(_) => false,
    }
}

/// Whether what a program printed are the values, and the gradients, that the case has.
fn shows(case: &Case, returned: &Returned, said: &str) -> bool {
    let asked = matches!(&returned.backward, Gradients::Returned(_));
    // Of outputs without elements the worker asks for no gradient; the program cannot know that there are none.
    let empty = returned.outputs.iter().all(|output| output.elements() == Some(0));
    if asked != said.contains("gradient of ") && !empty {
        return false;
    }
    if let Gradients::Returned(store) = &returned.backward
        && (store.missing.iter().any(|name| !said.contains(&format!("no gradient of {name}\n")))
            || store.gradients.keys().any(|name| !said.contains(&format!("\ngradient of {name}:\n"))))
    {
        return false;
    }
    // Of random values the op states facts, and the program prints them.
    if case.op.starts_with("random.") || case.op == "op.dropout" {
        return true;
    }
    let values = said.split("gradient of ").next().unwrap_or_default();
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
