//! The minimizer on predicates with a known smallest case.

use std::convert::Infallible;

use snuffer::case::Case;
use snuffer::generate::Mode;
use snuffer::hunt::Sample;
use snuffer::ops::{self, Contract, rule};
use snuffer::settle::keeps;
use snuffer::settle::minimize::{Minimized, minimize};
use snuffer::tensor::{DType, Tensor, Value};

fn minimized(case: Case, fails: impl Fn(&Case) -> bool) -> Minimized {
    let result: Result<_, Infallible> = minimize(case, |candidate| Ok(Some(fails(candidate))));
    result.unwrap_or_else(|never| match never {})
}

/// The first drawn case that `fails`.
fn failing(fails: impl Fn(&Case) -> bool) -> Case {
    let cases = (0..100_000).map(|index| Sample::nth(ops::ALL, &Mode::ALL, 11, index).drawn.case);
    cases.into_iter().find(|case| fails(case)).expect("such a case is drawn")
}

#[test]
fn a_predicate_that_always_fails_gives_the_smallest_case() {
    for index in 0..200 {
        let case = Sample::nth(ops::ALL, &Mode::ALL, 5, index).drawn.case;
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

/// Cases whose arguments must change together, and the smallest ones that still fail.
#[test]
fn dependent_arguments_shrink_together() {
    let ones = |shape: &[usize]| {
        let count = shape.iter().product();
        Tensor::new(DType::F32, shape.to_vec(), vec![Value::Float(1.0); count])
    };
    let shape = |case: &Case, name: &str| case.tensor(name).map_or(Vec::new(), |t| t.shape.clone());

    // Channels and groups.
    let accepted = |case: &Case| {
        let op = ops::find("tensor.conv1d").expect("an op");
        matches!(op.contract(case), Contract::Accepts { .. })
    };
    let case = Case::new("tensor.conv1d")
        .param("groups", 3_usize)
        .input("x", ones(&[1, 9, 4]))
        .input("kernel", ones(&[9, 3, 2]));
    let small = minimized(case, accepted).case;
    assert_eq!((shape(&small, "x"), shape(&small, "kernel")), (vec![1, 1, 1], vec![1, 1, 1]));

    // A window and the dimension that it moves over.
    let two_windows = |case: &Case| {
        let width = case.int("k");
        width > 1 && shape(case, "x").first().is_some_and(|&n| n as i64 == width + 1)
    };
    let small = minimized(Case::new("pool").param("k", 5_usize).input("x", ones(&[6])), two_windows).case;
    assert_eq!((small.int("k"), shape(&small, "x")), (2, vec![3]));

    // Dimensions and the list that names them.
    let last_dims = |case: &Case| {
        let (rank, dims) = (shape(case, "x").len(), case.sizes("dims"));
        rank >= 2 && dims == [rank - 2, rank - 1]
    };
    let case = Case::new("sum").param("dims", vec![2_usize, 3]).input("x", ones(&[2, 2, 2, 2]));
    let small = minimized(case, last_dims).case;
    assert_eq!((small.sizes("dims"), shape(&small, "x")), (vec![0, 1], vec![1, 1]));

    // The entries of a numbered list.
    let list = |case: &Case| {
        let named = |stem: &str| case.inputs.keys().filter(|name| name.starts_with(stem)).count();
        let in_order = (0..named("k")).all(|n| case.tensor(&format!("k{n}")).is_some());
        in_order && named("k") == named("v") && case.inputs.values().any(|tensor| tensor.shape == [7])
    };
    let mut case = Case::new("cache");
    for (n, size) in [2, 2, 7, 2].into_iter().enumerate() {
        case = case.input(&format!("k{n}"), ones(&[size])).input(&format!("v{n}"), ones(&[size]));
    }
    let names: Vec<String> = minimized(case, list).case.inputs.into_keys().collect();
    assert_eq!(names, ["k0", "v0"]);
}

#[test]
fn a_dim_far_beyond_the_rank_takes_no_longer() {
    let far = i64::MAX as usize;
    let x = Tensor::new(DType::F32, vec![1, 1], vec![Value::Float(1.0)]);
    let case = Case { op: "tensor.sum".to_string(), ..Case::default() }.input("x", x).param("dims", vec![1, far]);
    let small = minimized(case, |case| case.sizes("dims").contains(&far));
    assert_eq!(small.case.sizes("dims"), [far]);
}

#[test]
fn the_result_is_deterministic_and_a_fixed_point() {
    let strided = |case: &Case| case.inputs.values().any(|t| !t.view.order.is_empty());
    let case = failing(strided);
    let once = minimized(case.clone(), strided);
    assert_eq!(once.case, minimized(case, strided).case);
    let again = minimized(once.case.clone(), strided);
    assert_eq!(again.case, once.case);
    assert!(again.passes.iter().all(|pass| pass.accepted == 0));
}

#[test]
fn a_stopped_minimization_keeps_its_progress() {
    let case = failing(|case| case.inputs.len() == 3);
    let mut left = 5;
    let result: Result<_, Infallible> = minimize(case.clone(), |_| {
        left -= 1;
        Ok((left >= 0).then_some(true))
    });
    let stopped = result.unwrap_or_else(|never| match never {});
    assert!(!stopped.finished && stopped.case.complexity() < case.complexity());
}

/// A failing call that breaks a promise, and the smallest one that breaks the same promise.
#[test]
fn a_smaller_case_breaks_the_same_promise() {
    let scores = |shape: &[usize]| {
        let count = shape.iter().product();
        Tensor::new(DType::F32, shape.to_vec(), vec![Value::Float(0.0); count])
    };
    let labels = |dtype: DType, all: &[i64]| {
        Tensor::new(dtype, vec![all.len()], all.iter().map(|&label| Value::of(dtype, label as f64)).collect())
    };
    // As on CUDA: a label asserts if it is not below the number of classes, whatever else is wrong with the call.
    let asserts = |case: &Case| match (case.tensor("inp"), case.tensor("target")) {
        (Some(inp), Some(target)) => {
            let classes = inp.shape.last().map_or(0, |&size| size as i64);
            target.floats().iter().any(|&label| label as i64 >= classes)
        }
        _ => false,
    };
    let op = ops::find("loss.nll").expect("an op");
    let rows = [
        // Without the rule a label of f32, another number of labels, or no classes would do.
        (scores(&[4, 10]), labels(DType::U32, &[0, 3, 10, 1]), Contract::Rejects(&rule::LABEL)),
        (scores(&[4, 10]), labels(DType::F32, &[0, 3, 10, 1]), Contract::Rejects(&rule::ID_DTYPE)),
        // Of no classes nothing is promised: a case with a class is worth more.
        (scores(&[4, 0]), labels(DType::U32, &[0, 3, 2, 1]), Contract::Rejects(&rule::LABEL)),
    ];
    for (inp, target, promised) in rows {
        let case = Case::new("loss.nll").input("inp", inp).input("target", target);
        let mut own = op.contract(&case);
        let result: Result<_, Infallible> = minimize(case, |candidate| {
            let contract = op.contract(candidate);
            let is_same = keeps(&own, &contract) && asserts(candidate);
            if is_same {
                own = contract;
            }
            Ok(Some(is_same))
        });
        let small = result.unwrap_or_else(|never| match never {}).case;
        assert_eq!(op.contract(&small), promised, "{}", small.to_text());
        assert_eq!(small.tensor("inp").map(|inp| inp.shape.clone()), Some(vec![1, 1]), "{}", small.to_text());
    }
}
