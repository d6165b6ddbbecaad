//! The words of reports about Metal, where nobody tries anything.

use crate::causes::{OnMetal, RootCause};
use crate::program::Test;

/// How the change that fixes `cause` relates to Metal, and whether `test` runs there.
pub fn on_metal(cause: &RootCause, test: Option<&Test>) -> Option<&'static str> {
    let is_skipped = test.is_some_and(Test::skips_metal);
    Some(match cause.fix.as_ref()?.on_metal() {
        OnMetal::Shared => "the change is in code that Metal shares",
        OnMetal::Own => "the change includes code of Metal",
        OnMetal::Partly | OnMetal::Untouched if is_skipped => {
            "its kernel is not changed, and the test is skipped there"
        }
        OnMetal::Partly => "its kernel is not changed",
        OnMetal::Untouched => "not affected (the change is in CPU or CUDA code alone)",
    })
}

/// The same of several changes with their numbers, which are left out if all are alike. Empty if there is no change.
pub fn of_all(changes: &[(usize, &'static str)]) -> String {
    let mut alike: Vec<(&str, Vec<String>)> = Vec::new();
    for (number, words) in changes {
        match alike.iter_mut().find(|(other, _)| other == words) {
            Some((_, numbers)) => numbers.push(number.to_string()),
            None => alike.push((*words, vec![number.to_string()])),
        }
    }
    let parts: Vec<String> = match alike.as_slice() {
        [(words, _)] => vec![format!("; {words}")],
        several => several.iter().map(|(words, numbers)| format!("; {}: {words}", numbers.join(", "))).collect(),
    };
    parts.concat()
}
