//! The elements that are wrong, with what was expected of them, and values that come from outside a view.

use crate::case::Case;
use crate::oracle::{Evidence, Expectation, Kind, OracleName, Violation};
use crate::outcome::{Gradients, Outcome};
use crate::tensor::{DType, Tensor, View, index_of};

/// What lies around a view, in words.
pub const OUTSIDE: &str = "memory outside the view";

/// A wrong element of an output or of a gradient.
#[derive(Debug, Clone, PartialEq)]
pub struct WrongElement {
    /// Which: `[0, 2]`, with the output or gradient if there are several.
    pub place: String,
    /// Its value.
    pub got: String,
    /// The value of the reference.
    pub expected: String,
    /// The allowed error; `None` if it does not matter.
    pub within: Option<String>,
}

/// The wrong elements that `violation` is about, as far as there is a reference for them.
pub fn wrong_elements(evidence: &Evidence, violation: &Violation) -> Vec<WrongElement> {
    let seen = evidence.observations.iter().find(|seen| seen.device == violation.device);
    let Some(Outcome::Returned(returned)) = seen.map(|seen| &seen.outcome) else { return Vec::new() };
    let case = evidence.case;
    match (violation.oracle, &violation.kind, &returned.backward) {
        (OracleName::Reference, Kind::WrongValue, _) => {
            let several = returned.outputs.len() > 1;
            let outputs = evidence.expectations(returned).into_iter().zip(&returned.outputs).enumerate();
            let of = |(number, (expected, got)): (usize, (Vec<Expectation>, &Tensor))| {
                let name = if several { format!(" of output {number}") } else { String::new() };
                wrong(case, &expected, got, &got.shape, &name)
            };
            outputs.flat_map(of).collect()
        }
        (OracleName::Gradient, Kind::WrongValue, Gradients::Returned(store)) => {
            let of = |(name, grad): (&String, &Tensor)| {
                let stored = case.tensor(name).map(Tensor::stored_shape).unwrap_or_default();
                wrong(
                    case,
                    &evidence.gradient_expectations(name, grad),
                    grad,
                    &stored,
                    &format!(" of the gradient of {name}"),
                )
            };
            let wrong: Vec<WrongElement> = store.gradients.iter().flat_map(of).collect();
            // Of elements that compete for a gradient, only the sum is known.
            if wrong.is_empty() {
                store.gradients.iter().filter_map(|(name, grad)| sum(evidence, name, grad)).collect()
            } else {
                wrong
            }
        }
        _ => Vec::new(),
    }
}

/// The sum of the gradient of the input `name`, if it is wrong.
fn sum(evidence: &Evidence, name: &str, grad: &Tensor) -> Option<WrongElement> {
    let expected = evidence.gradient_sum(name, grad).filter(|expected| !expected.kept)?;
    let got: f64 = grad.floats().iter().sum();
    Some(WrongElement {
        place: format!("the sum of the gradient of {name}"),
        got: number(grad.dtype, got),
        expected: number(grad.dtype, expected.value),
        within: is_worth_telling(expected.within, got, expected.value).then(|| format!("{:.1e}", expected.within)),
    })
}

fn wrong(case: &Case, expected: &[Expectation], got: &Tensor, shape: &[usize], of: &str) -> Vec<WrongElement> {
    let values = got.floats();
    let element = |one: &Expectation| {
        let value = values[one.position];
        let poison = if is_outside_a_view(case, value) { format!(", from {OUTSIDE}") } else { String::new() };
        let place = match shape.len() {
            0 => of.trim_start_matches(" of ").to_string(),
            _ => format!("{:?}{of}", index_of(one.position, shape)),
        };
        WrongElement {
            place: if place.is_empty() { "the value".to_string() } else { place },
            got: format!("{}{poison}", number(got.dtype, value)),
            expected: number(got.dtype, one.value),
            within: is_worth_telling(one.within, value, one.value).then(|| format!("{:.1e}", one.within)),
        }
    };
    expected.iter().filter(|one| !one.kept).map(element).collect()
}

/// Whether a reader needs to know the allowed error of an element: not if it is far below the actual one, nor if the value is
/// not even finite.
fn is_worth_telling(within: f64, got: f64, expected: f64) -> bool {
    const TINY: f64 = 1e-30;
    let is_near = (got - expected).abs() < 1e10 * TINY;
    got.is_finite() && within > 0.0 && (within >= TINY || is_near)
}

/// A number in as many digits as its dtype has.
fn number(dtype: DType, value: f64) -> String {
    match dtype {
        _ if !dtype.is_float() && value.fract() == 0.0 => format!("{}", value as i64),
        DType::F64 => format!("{value:?}"),
        _ => format!("{:?}", value as f32),
    }
}

/// Whether a value of an output is what cases have in memory outside of their views, and nowhere else.
pub fn is_outside_a_view(case: &Case, value: f64) -> bool {
    value == View::POISON && has_margin(case) && !holds_poison(case)
}

/// Whether an output shows a value from outside a view.
pub fn shows_outside_of_a_view(case: &Case, outcome: &Outcome) -> bool {
    let Outcome::Returned(returned) = outcome else { return false };
    let store = match &returned.backward {
        Gradients::Returned(store) => Some(&store.gradients),
        Gradients::NotAsked | Gradients::Rejected(_) => None,
    };
    let shown = returned.outputs.iter().chain(store.into_iter().flat_map(|gradients| gradients.values()));
    shown.flat_map(Tensor::floats).any(|value| is_outside_a_view(case, value))
}

/// Whether an input is a view of a buffer with more elements, which hold [`View::POISON`].
pub fn has_margin(case: &Case) -> bool {
    case.inputs.values().any(|tensor| {
        let View { before, after, step, .. } = &tensor.view;
        [before, after].iter().any(|margin| margin.iter().any(|&n| n > 0)) || step.iter().any(|&n| n > 1)
    })
}

fn holds_poison(case: &Case) -> bool {
    case.inputs.values().flat_map(|tensor| tensor.values.listed()).any(|value| value.as_f64() == View::POISON)
}
