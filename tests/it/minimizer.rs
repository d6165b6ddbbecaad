//! The minimizer on predicates whose smallest case is known.

use std::convert::Infallible;

use snuffer::case::Case;
use snuffer::generate::Mode;
use snuffer::minimize::{Minimized, minimize};
use snuffer::ops;
use snuffer::sample::nth;
use snuffer::tensor::Tensor;

fn minimized(case: Case, fails: impl Fn(&Case) -> bool) -> Minimized {
    let result: Result<_, Infallible> = minimize(case, |candidate| Ok(Some(fails(candidate))));
    result.unwrap_or_else(|never| match never {})
}

/// The first drawn case that `fails`.
fn failing(fails: impl Fn(&Case) -> bool) -> Case {
    let cases = (0..100_000).map(|index| nth(ops::ALL, &Mode::ALL, 11, index).drawn.case);
    cases.into_iter().find(|case| fails(case)).expect("such a case is drawn")
}

#[test]
fn a_failure_of_any_case_ends_in_the_smallest_one() {
    for index in 0..200 {
        let case = nth(ops::ALL, &Mode::ALL, 5, index).drawn.case;
        let small = minimized(case.clone(), |_| true);
        assert!(small.finished);
        assert!(small.case.complexity() <= case.complexity());
        assert!(small.case.inputs.is_empty() && small.case.params.is_empty(), "{}", small.case.to_text());
    }
}

#[test]
fn a_dimension_that_matters_keeps_its_threshold() {
    let long = |case: &Case| case.inputs.values().any(|t| t.shape.last().is_some_and(|&n| n >= 257));
    let small = minimized(failing(long), long);
    let shapes: Vec<_> = small.case.inputs.values().map(|t| t.shape.clone()).collect();
    assert_eq!(shapes, [vec![257]]);
}

#[test]
fn a_value_that_matters_stands_alone() {
    let has_nan = |t: &Tensor| t.values.listed().iter().any(|v| v.as_f64().is_nan());
    let nan = move |case: &Case| case.inputs.values().any(has_nan);
    let small = minimized(failing(nan), nan);
    let elements: usize = small.case.inputs.values().filter_map(Tensor::elements).sum();
    assert_eq!(elements, 1, "{}", small.case.to_text());
}

#[test]
fn the_result_is_the_same_each_time_and_cannot_be_improved_by_starting_again() {
    let strided = |case: &Case| case.inputs.values().any(|t| !t.view.order.is_empty());
    let case = failing(strided);
    let once = minimized(case.clone(), strided);
    assert_eq!(once.case, minimized(case, strided).case);
    let again = minimized(once.case.clone(), strided);
    assert_eq!(again.case, once.case);
    assert!(again.accepted.iter().all(|(_, count)| *count == 0));
}

#[test]
fn giving_up_keeps_what_was_reached() {
    let case = failing(|case| case.inputs.len() == 3);
    let mut left = 5;
    let result: Result<_, Infallible> = minimize(case.clone(), |_| {
        left -= 1;
        Ok((left >= 0).then_some(true))
    });
    let stopped = result.unwrap_or_else(|never| match never {});
    assert!(!stopped.finished && stopped.case.complexity() < case.complexity());
}
