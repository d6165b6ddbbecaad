//! Arguments at the ends of what a case can say: they are drawn, kept by the text, and judged.

use std::collections::{BTreeMap, BTreeSet};

use snuffer::case::{Case, Param};
use snuffer::device::Device;
use snuffer::exec::{Executor, WorkerSpec};
use snuffer::generate::Mode;
use snuffer::hunt::Sample;
use snuffer::ops::{self, Contract, Op, ReferenceInputs, rule};
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::outcome::{Observation, Outcome, Returned};
use snuffer::settle::minimize::{Minimized, minimize};
use snuffer::tensor::{DType, Tensor, Value};

fn cases(mode: Mode, count: u64) -> impl Iterator<Item = Case> {
    (0..count).map(move |index| Sample::nth(ops::ALL, &[mode], 5, index).drawn.case)
}

fn op_of(case: &Case) -> &'static Op {
    ops::find(&case.op).expect("an op")
}

/// The verdict on a result of `case` on the CPU.
fn judged(case: &Case, outcome: Outcome) -> String {
    match judge(&Evidence::new(op_of(case), case, &[Observation::new(Device::Cpu, outcome)])) {
        Verdict::Fail(violations) => violations[0].kind.to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn every_size_has_one_text() {
    let sizes = [0, 1, i64::MAX as usize, i64::MAX as usize + 1, usize::MAX - 1, usize::MAX];
    for size in sizes {
        let case = Case::new("tensor.narrow").param("start", size).param("sizes", vec![size, 1]);
        assert_eq!((case.size("start"), case.sizes("sizes")), (size, vec![size, 1]));
        let parsed = Case::parse(&case.to_text()).expect("its own text");
        assert_eq!((&parsed, parsed.size("start")), (&case, size));
        assert_eq!(Param::read(&case.params["start"].to_string().replace('"', "")), case.params["start"]);
    }
    assert_eq!(Param::from(usize::MAX - 1), Param::from("usize::MAX - 1"));
    let complexity = |size: usize| Case::new("x").param("n", size).complexity();
    assert!(sizes.windows(2).all(|pair| complexity(pair[0]) < complexity(pair[1])));
}

#[test]
fn the_ends_of_each_type_are_drawn() {
    let drawn: Vec<Param> = cases(Mode::Adversarial, 60_000).flat_map(|case| case.params.into_values()).collect();
    let drawn: Vec<&Param> = drawn.iter().flat_map(Param::leaves).collect();
    let ends = [usize::MAX, usize::MAX - 1, i64::MAX as usize, 1 << 31].map(Param::from);
    let negative = [i64::from(i32::MIN), i64::from(i32::MAX)].map(Param::from);
    for end in ends.iter().chain(&negative) {
        assert!(drawn.contains(&end), "{end} is not drawn");
    }
}

/// The inclusive range that ends at the largest size wraps to an empty one if its end is counted up unchecked.
#[test]
fn a_size_that_wraps_must_be_refused() {
    let x = Tensor::new(DType::F32, vec![2], vec![Value::Float(1.0); 2]);
    let case = Case::new("tensor.i").param("kinds", vec!["through"]).param("ends", vec![usize::MAX]).input("x", x);
    assert!(matches!(op_of(&case).contract(&case), Contract::Rejects(_)));
    let empty = Tensor::new(DType::F32, vec![0], Vec::new());
    let returned = Outcome::Returned(Returned { outputs: vec![empty], ..Returned::default() });
    assert_eq!(judged(&case, returned), "invalid not refused");
    assert!(snuffer::program::call(op_of(&case), &case).contains("..=usize::MAX"));
}

#[test]
fn the_minimizer_keeps_a_size_only_if_it_matters() {
    let case = Case::new("tensor.get").param("index", usize::MAX - 1);
    let minimized = |fails: fn(&Case) -> bool| {
        let minimized: Result<Minimized, ()> = minimize(case.clone(), |candidate| Ok(Some(fails(candidate))));
        minimized.expect("no attempt fails").case.size("index")
    };
    assert_eq!(minimized(|case| case.size("index") > 2), 3);
    assert_eq!(minimized(|case| case.size("index") >= i64::MAX as usize), i64::MAX as usize);
    assert_eq!(minimized(|case| case.size("index") > i64::MAX as usize), usize::MAX - 1);
}

#[test]
fn dimensions_are_counted_from_the_end_by_name_and_by_number() {
    let op = ops::find("tensor.dim_from_end").expect("an op");
    let mut written = [0; 3];
    let mut executor = Executor::start(&[Device::Cpu], &WorkerSpec::default()).expect("a worker starts");
    for index in 0..400 {
        let case = Sample::nth(&[op], &[Mode::Valid], 1, index).drawn.case;
        let text = snuffer::program::call(op, &case);
        for (count, form) in written.iter_mut().zip(["D::Minus1", "D::Minus2", "D::Minus("]) {
            *count += usize::from(text.contains(form));
        }
        let outcome = executor.run(&case).expect("the harness survives");
        assert!(matches!(outcome, Outcome::Returned(_)), "{}\n{}", outcome.summary(), case.to_text());
        assert_eq!(judged(&case, outcome), "Pass", "{}", case.to_text());
    }
    assert!(written.iter().all(|&count| count > 20), "{written:?}");
    let x = Tensor::new(DType::F32, vec![1, 2], vec![Value::Float(1.0), Value::Float(2.0)]);
    let sum = |back: usize| Case::new(op.name).param("call", "sum").param("back", back).input("x", x.clone());
    // The sum over the other dimension.
    let wrong = Outcome::Returned(Returned { outputs: vec![x.clone()], ..Returned::default() });
    assert_eq!(judged(&sum(1), wrong), "wrong shape");
    assert_eq!([0, 3, usize::MAX].map(|back| op.contract(&sum(back))), [0; 3].map(|_| Contract::Rejects(&rule::DIM)));
    let reference = op.reference().expect("one");
    assert_eq!(reference(&ReferenceInputs::new(&sum(1)))[0].iter().map(|sum| sum.value).collect::<Vec<_>>(), [3.0]);
}

#[test]
fn shapes_of_six_dimensions_and_empty_batches_with_and_without_classes_are_drawn() {
    let (mut deep, mut losses, mut lanes) = (BTreeSet::new(), [0; 2], [0; 2]);
    for case in cases(Mode::Valid, 60_000) {
        if case.inputs.values().any(|tensor| tensor.shape.len() == 6) {
            deep.insert(case.op.clone());
        }
        if let Some(&[0, classes]) = case.tensor("inp").map(|inp| &inp.shape[..]).filter(|_| case.op == "loss.nll") {
            losses[usize::from(classes == 0)] += 1;
        }
        if let Some([rows @ .., last]) =
            case.tensor("x").map(|x| &x.shape[..]).filter(|_| case.op == "op.softmax_last_dim")
        {
            lanes[0] += usize::from(*last == 0 && !rows.contains(&0));
            lanes[1] += usize::from(*last > 0 && rows.contains(&0));
        }
    }
    assert!(deep.len() > 60, "{} ops get six dimensions", deep.len());
    assert!(losses.iter().chain(&lanes).all(|&count| count > 0), "{losses:?} {lanes:?}");
}

#[test]
fn values_at_the_limits_of_each_dtype_are_drawn() {
    let mut drawn = BTreeMap::<DType, BTreeSet<u64>>::new();
    for case in cases(Mode::Valid, 60_000) {
        for tensor in case.inputs.values() {
            let bits = tensor.values.listed().into_iter().map(|value| value.as_f64().to_bits());
            drawn.entry(tensor.dtype).or_default().extend(bits);
        }
    }
    for dtype in DType::FLOATS {
        let format = dtype.format().expect("a float");
        let (normal, below) = (f64::from(format.min_exponent).exp2(), 1.0 - dtype.unit_roundoff());
        let values =
            [-0.0, dtype.smallest(), normal, normal - dtype.smallest(), format.max, dtype.round(format.max * below)];
        let last = f64::from(format.precision).exp2() - 1.0;
        for value in values.into_iter().chain([last]) {
            assert!(drawn[&dtype].contains(&value.to_bits()), "{value:?} of {dtype} is not drawn");
        }
    }
    let wide =
        [(DType::F64, 16_777_217_i64), (DType::I64, (1 << 53) + 1), (DType::U32, 1 << 31), (DType::I32, (1 << 24) + 1)];
    for (dtype, value) in wide {
        assert!(drawn[&dtype].contains(&(value as f64).to_bits()), "{value} of {dtype} is not drawn");
    }
}
