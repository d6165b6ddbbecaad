//! What changes from one candle to another in a case, judged from observations that no device made.

use snuffer::case::{Backward, Case};
use snuffer::device::Device;
use snuffer::ops;
use snuffer::oracle::{Change, Class, Evidence, Spent, changes, costlier};
use snuffer::outcome::{Gradients, Observation, Outcome, Panic, Phase, Refusal, Returned, Store};
use snuffer::report::changed;
use snuffer::tensor::{DType, Tensor, Value};

const CPU: Device = Device::Cpu;

fn tensor(dtype: DType, values: &[f64]) -> Tensor {
    Tensor::new(dtype, vec![values.len()], values.iter().map(|&value| Value::of(dtype, value)).collect())
}

fn returned(dtype: DType, values: &[f64]) -> Outcome {
    Outcome::Returned(Returned { outputs: vec![tensor(dtype, values)], ..Returned::default() })
}

fn refused(variant: &str) -> Outcome {
    Outcome::Rejected(Refusal { variant: variant.into(), message: "no".into() })
}

fn panicked(place: &str) -> Outcome {
    Outcome::Panicked(Panic { phase: Phase::Forward, place: place.into(), message: "a panic".into() })
}

/// With a gradient of `x`, or without one.
fn with_gradient(gradient: Option<&[f64]>) -> Outcome {
    let gradients = gradient.map(|values| ("x".to_string(), tensor(DType::F32, values))).into_iter().collect();
    let missing = if gradient.is_none() { vec!["x".to_string()] } else { Vec::new() };
    let backward = Gradients::Returned(Store { gradients, missing, ..Store::default() });
    Outcome::Returned(Returned { outputs: vec![tensor(DType::F32, &[1.0, 2.0])], backward, ..Returned::default() })
}

fn found(case: &Case, base: &Observation, head: &Observation) -> Vec<Change> {
    let op = ops::find(&case.op).expect("an op");
    op.check(case).expect("an accepted case");
    let [base, head] = [base, head].map(std::slice::from_ref);
    changes(&Evidence::new(op, case, base), &Evidence::new(op, case, head))
}

/// Each change: its class, and what happens.
fn shown(case: &Case, base: &Outcome, head: &Outcome) -> Vec<String> {
    let seen = |outcome: &Outcome| Observation::new(CPU, outcome.clone());
    let found = found(case, &seen(base), &seen(head));
    found.iter().map(|change| format!("{}: {}", change.class.name(), changed(&case.op, change))).collect()
}

/// A case whose result the reference bounds: the natural logarithm.
fn log() -> Case {
    Case::new("tensor.log").input("x", tensor(DType::F32, &[2.0, 3.0]))
}

/// A case whose result is not specified: an exponent beyond what the reference bounds.
fn unspecified() -> Case {
    Case::new("tensor.powf").input("x", tensor(DType::F32, &[2.0, 3.0])).param("e", 1e300)
}

#[test]
fn a_change_is_judged_from_both_sides() {
    let right = [2f64.ln(), 3f64.ln()];
    let [good, bad, worse] = [[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]
        .map(|by: [f64; 2]| returned(DType::F32, &[right[0] * by[0], right[1] * by[1]]));
    let ulp = returned(DType::F32, &[right[0], right[1] * (1.0 + 1e-7)]);
    let places = ["candle-core/src/op.rs:1", "candle-core/src/tensor.rs:1"].map(panicked);
    let wrong = "tensor.log returns a wrong value";
    let table: [(&str, &Outcome, &Outcome, &[String]); 12] = [
        ("the same", &good, &good, &[]),
        ("a rounding that the bound allows", &good, &ulp, &[]),
        ("a wrong value", &good, &bad, &[format!("newly failing: {wrong}")]),
        ("no wrong value", &bad, &good, &[format!("newly passing: no more: {wrong}")]),
        // What is known to fail hides no change of what it returns.
        ("another wrong value", &bad, &worse, &["changed: tensor.log returns a different value".into()]),
        ("the same wrong value", &bad, &bad, &[]),
        ("a refusal", &good, &refused("Msg"), &["newly failing: tensor.log rejects a valid call".into()]),
        ("a panic", &good, &places[0], &["newly failing: tensor.log panics in op.rs".into()]),
        ("a panic elsewhere", &places[0], &places[1], &["fails otherwise: tensor.log panics in tensor.rs".into()]),
        (
            "a panic instead of a wrong value",
            &bad,
            &places[0],
            &["newly failing: tensor.log panics in op.rs".into(), format!("newly passing: no more: {wrong}")],
        ),
        ("a device that cannot", &good, &Outcome::Unsupported("a call".into()), &[]),
        ("another device that cannot", &Outcome::Unsupported("a call".into()), &bad, &[]),
    ];
    for (what, base, head, expected) in table {
        assert_eq!(shown(&log(), base, head), expected, "{what}");
    }
}

#[test]
fn where_nothing_is_promised_results_are_compared_with_each_other() {
    let of = |values: &[f64]| returned(DType::F32, values);
    let value = "changed: tensor.powf returns a different value";
    let other = |what: &str| vec![format!("changed: tensor.powf {what}")];
    let table: [(&str, Outcome, Outcome, Vec<String>); 12] = [
        ("a rounding", of(&[1.0, 2.0]), of(&[1.0, 2.000_000_2]), vec![]),
        (
            "half a value in a coarse dtype",
            returned(DType::Bf16, &[2.0]),
            returned(DType::Bf16, &[3.0]),
            vec![value.to_string()],
        ),
        ("some roundings", of(&[1.0, 2.0]), of(&[1.0, 2.000_02]), vec![format!("{value}, by a rounding error")]),
        ("a value", of(&[1.0, 2.0]), of(&[1.0, 3.0]), vec![value.to_string()]),
        ("a NaN", of(&[1.0, 2.0]), of(&[1.0, f64::NAN]), vec![value.to_string()]),
        ("the same NaN", of(&[1.0, f64::NAN]), of(&[1.0, f64::NAN]), vec![]),
        ("the sign of zero", of(&[0.0]), of(&[-0.0]), vec![]),
        ("an integer", returned(DType::U32, &[1.0]), returned(DType::U32, &[2.0]), vec![value.to_string()]),
        ("a shape", of(&[1.0, 2.0]), of(&[1.0]), other("returns a different shape or dtype")),
        ("a refusal", of(&[1.0]), refused("DType"), vec!["newly refused: tensor.powf rejects the call: DType".into()]),
        (
            "no refusal",
            refused("DType"),
            of(&[1.0]),
            vec!["newly accepted: tensor.powf no longer rejects the call: DType".into()],
        ),
        (
            "a panic",
            refused("DType"),
            panicked("candle-core/src/op.rs:1"),
            vec!["newly failing: tensor.powf panics in op.rs".into()],
        ),
    ];
    for (what, base, head, expected) in &table {
        assert_eq!(shown(&unspecified(), base, head), *expected, "{what}");
    }
    let no_more = shown(&unspecified(), &panicked("candle-core/src/op.rs:1"), &refused("DType"));
    assert_eq!(no_more, ["newly passing: no more: tensor.powf panics in op.rs"]);
}

#[test]
fn gradients_are_compared_too() {
    let case = Case { backward: Backward::Sum, ..unspecified() };
    let [one, other, none] = [Some(&[1.0, 1.0][..]), Some(&[1.0, 2.0]), None].map(with_gradient);
    let refuses = |outcome: &Outcome| {
        let Outcome::Returned(mut returned) = outcome.clone() else { unreachable!("it returns") };
        returned.backward = Gradients::Rejected(Refusal { variant: "Msg".into(), message: "no".into() });
        Outcome::Returned(returned)
    };
    let table = [
        (&one, &one, vec![]),
        (&one, &other, vec!["changed: tensor.powf computes a different gradient of x"]),
        (&one, &none, vec!["changed: tensor.powf omits the gradient of x"]),
        (&none, &one, vec!["newly accepted: tensor.powf no longer omits the gradient of x"]),
        (&one, &refuses(&one), vec!["newly refused: tensor.powf rejects the backward pass: Msg"]),
        (&refuses(&one), &one, vec!["newly accepted: tensor.powf no longer rejects the backward pass: Msg"]),
    ];
    for (base, head, expected) in table {
        assert_eq!(shown(&case, base, head), expected);
    }
}

#[test]
fn what_differs_from_run_to_run_is_no_change() {
    let (one, other) = (returned(DType::F32, &[1.0]), returned(DType::F32, &[9.0]));
    let seen = |outcome: &Outcome, again: Option<&Outcome>| Observation {
        again: again.cloned(),
        ..Observation::new(CPU, outcome.clone())
    };
    let case = unspecified();
    assert_eq!(found(&case, &seen(&one, None), &seen(&other, None)).len(), 1);
    let unsteady = found(&case, &seen(&one, Some(&other)), &seen(&other, Some(&one)));
    assert!(unsteady.iter().all(|change| change.class != Class::Changed), "{unsteady:?}");
    // A case in which one side differs from itself within a process, and the other one from process to process.
    let case = log();
    let steady = returned(DType::F32, &[2f64.ln(), 3f64.ln()]);
    let repeated = found(&case, &seen(&steady, None), &seen(&steady, Some(&other)));
    let moved = found(&unspecified(), &seen(&one, None), &seen(&other, None));
    assert_eq!((repeated.len(), moved.len()), (1, 1), "{repeated:?} {moved:?}");
    assert!(repeated[0].is_doubted_by(&moved[0]) && !moved[0].is_doubted_by(&repeated[0]));
}

#[test]
fn only_a_large_factor_of_what_can_be_measured_is_a_cost() {
    let spent =
        |milliseconds: u64, mebibytes: u64| Spent { processor_us: 1000 * milliseconds, peak_kib: mebibytes << 10 };
    let none: &[&str] = &[];
    for (base, head, expected) in [
        (spent(10, 10), spent(10, 10), none),
        (spent(10, 10), spent(39, 10), none),
        (spent(1, 0), spent(19, 31), none),
        (spent(10, 10), spent(40, 10), &["slower: is slower"]),
        (spent(0, 0), spent(0, 32), &["hungrier: needs more memory"]),
        (spent(10, 100), spent(9, 199), none),
        (spent(40, 32), spent(10, 0), none),
        (spent(10, 10), spent(100, 100), &["slower: is slower", "hungrier: needs more memory"]),
    ] {
        let found = costlier(CPU, base, head);
        let shown: Vec<String> = found.iter().map(|it| format!("{}: {}", it.class.name(), it.site)).collect();
        assert_eq!(shown, expected, "{base:?} {head:?}");
        assert!(found.iter().all(|it| it.class.needs_a_look()));
    }
}
