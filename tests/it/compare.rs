//! What changes from one candle to another: judged from observations, found in sources, ordered and reported.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use snuffer::candles::{Crate, Crates, Sources, crates, released};
use snuffer::case::Case;
use snuffer::compare::{FAR, Order, distances};
use snuffer::device::Device;
use snuffer::exec::Limits;
use snuffer::ops::{self, Op};
use snuffer::oracle::{Change, Class, Evidence, Spent, changes, costlier};
use snuffer::outcome::{Gradients, Observation, Outcome, Panic, Phase, Refusal, Returned, Store};
use snuffer::report::{Comparison, Difference, changed};
use snuffer::tensor::{DType, Tensor, Value};

use crate::output::{code, text};

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

/// A case of which nothing is promised: a dtype that candle does not list.
fn unspecified() -> Case {
    Case::new("tensor.log").input("x", tensor(DType::U32, &[2.0, 3.0]))
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
        ("another wrong value", &bad, &worse, &["changed: tensor.log returns another value".into()]),
        ("the same wrong value", &bad, &bad, &[]),
        ("a refusal", &good, &refused("Msg"), &["newly failing: tensor.log refuses a valid call".into()]),
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
    let value = "changed: tensor.log returns another value";
    let other = |what: &str| vec![format!("changed: tensor.log {what}")];
    let panics = "panics in candle-core/src/op.rs";
    let table: [(&str, Outcome, Outcome, Vec<String>); 12] = [
        ("a rounding", of(&[1.0, 2.0]), of(&[1.0, 2.000_000_2]), vec![]),
        (
            "half a value in a coarse dtype",
            returned(DType::Bf16, &[2.0]),
            returned(DType::Bf16, &[3.0]),
            vec![value.to_string()],
        ),
        ("some roundings", of(&[1.0, 2.0]), of(&[1.0, 2.000_02]), vec![format!("{value}, by a rounding")]),
        ("a value", of(&[1.0, 2.0]), of(&[1.0, 3.0]), vec![value.to_string()]),
        ("a NaN", of(&[1.0, 2.0]), of(&[1.0, f64::NAN]), vec![value.to_string()]),
        ("the same NaN", of(&[1.0, f64::NAN]), of(&[1.0, f64::NAN]), vec![]),
        ("the sign of zero", of(&[0.0]), of(&[-0.0]), vec![]),
        ("an integer", returned(DType::U32, &[1.0]), returned(DType::U32, &[2.0]), vec![value.to_string()]),
        ("a shape", of(&[1.0, 2.0]), of(&[1.0]), other("returns another shape or dtype")),
        ("a refusal", of(&[1.0]), refused("DType"), vec!["newly refused: tensor.log refuses the call: DType".into()]),
        (
            "no refusal",
            refused("DType"),
            of(&[1.0]),
            vec!["newly accepted: tensor.log no longer refuses the call: DType".into()],
        ),
        (
            "a panic",
            refused("DType"),
            panicked("candle-core/src/op.rs:1"),
            vec![format!("newly crashing: tensor.log {panics}")],
        ),
    ];
    for (what, base, head, expected) in &table {
        assert_eq!(shown(&unspecified(), base, head), *expected, "{what}");
    }
    let no_more = shown(&unspecified(), &panicked("candle-core/src/op.rs:1"), &refused("DType"));
    assert_eq!(no_more, [format!("newly accepted: tensor.log no longer {panics}")]);
}

#[test]
fn gradients_are_compared_too() {
    let case = Case::parse("op = \"tensor.log\"\nbackward = \"sum\"").expect("a case");
    let case = case.input("x", tensor(DType::U32, &[2.0, 3.0]));
    let [one, other, none] = [Some(&[1.0, 1.0][..]), Some(&[1.0, 2.0]), None].map(with_gradient);
    let refuses = |outcome: &Outcome| {
        let Outcome::Returned(mut returned) = outcome.clone() else { unreachable!("it returns") };
        returned.backward = Gradients::Rejected(Refusal { variant: "Msg".into(), message: "no".into() });
        Outcome::Returned(returned)
    };
    let table = [
        (&one, &one, vec![]),
        (&one, &other, vec!["changed: tensor.log computes another gradient of x"]),
        (&one, &none, vec!["changed: tensor.log leaves out the gradient of x"]),
        (&none, &one, vec!["newly accepted: tensor.log no longer leaves out the gradient of x"]),
        (&one, &refuses(&one), vec!["newly refused: tensor.log refuses the backward pass: Msg"]),
        (&refuses(&one), &one, vec!["newly accepted: tensor.log no longer refuses the backward pass: Msg"]),
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
}

#[test]
fn only_a_large_factor_of_what_can_be_measured_is_a_cost() {
    let spent = |milliseconds, mebibytes: u64| Spent {
        processor: Duration::from_millis(milliseconds),
        peak_kib: mebibytes << 10,
    };
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

/// The sources of the release under test with `new` for `old` in a file of a crate.
fn edited(name: &str, file: &str, old: &str, new: &str) -> [Sources; 2] {
    let base = Crates { version: snuffer::CANDLE.into(), ..Crates::default() };
    let mut own = Crate::read(&released(name).expect("fetched")).expect("readable");
    let text = String::from_utf8(own.files[file].clone()).expect("text");
    assert!(text.contains(old), "{file} has no `{old}`");
    own.files.insert(file.into(), text.replacen(old, new, 1).into_bytes());
    let head = Crates {
        root: Some("/x".into()),
        own: [(name.to_string(), own)].into(),
        version: snuffer::CANDLE.into(),
        ..Crates::default()
    };
    [base, head].map(|crates| Sources::of(&crates, false).expect("readable"))
}

#[test]
fn changed_functions_are_named_and_the_ops_that_may_call_them_come_first() {
    let old = "let src_idx = start_src_idx + index * src_right_len + right_i;";
    let new = "let src_idx = start_src_idx + index + right_i;";
    let [base, head] = edited("candle-core", "src/cpu_backend/mod.rs", old, new);
    let changed = head.changed_since(&base);
    let file = "candle-core/src/cpu_backend/mod.rs".to_string();
    assert_eq!(changed.files, BTreeSet::from([file.clone()]));
    assert_eq!(changed.functions, BTreeSet::from([(file, "Gather::f".to_string())]));
    let all: Vec<&'static Op> = ops::ALL.to_vec();
    let distances = distances(&all, &head, &changed, &[CPU], Limits::default(), 1).expect("no device");
    assert_eq!(distances.len(), all.len(), "no op is left out");
    let nearest: Vec<&str> = distances.iter().filter(|(_, far)| **far <= 1).map(|(name, _)| *name).collect();
    assert!(nearest.contains(&"tensor.gather") && nearest.len() < all.len() / 4, "{nearest:?}");
    assert!(distances["loss.mse"] > 1, "it gathers nothing");
    let order = Order::new(&all, &distances);
    assert!(nearest.contains(&order.sample(1, 0).op.name), "{}", order.sample(1, 0).op.name);
}

#[test]
fn comments_and_other_processors_change_nothing() {
    let [base, head] = edited("candle-core", "src/cpu/neon.rs", "use ", "use  ");
    let changed = head.changed_since(&base);
    assert!(changed.files.is_empty() && changed.others.contains("candle-core/src/cpu/neon.rs"), "{changed:?}");
    let [base, head] = edited("candle-nn", "src/loss.rs", "    inp.gather", "    // A comment.\n    inp.gather");
    let changed = head.changed_since(&base);
    assert!(changed.functions.is_empty() && changed.files.len() == 1, "{changed:?}");
    assert!(crates(snuffer::CANDLE).expect("a release").is_release_under_test());
}

#[test]
fn a_turn_has_each_op_and_no_case_twice() {
    let ops: Vec<&'static Op> =
        ["tensor.neg", "tensor.gather", "loss.mse"].map(|name| ops::find(name).expect("an op")).into();
    let far = BTreeMap::from([("tensor.neg", FAR), ("tensor.gather", 0), ("loss.mse", FAR - 1)]);
    let order = Order::new(&ops, &far);
    let turn = (1 << FAR) + 2 + 1;
    let drawn: Vec<(&str, u64)> =
        (0..3 * turn).map(|index| order.sample(1, index)).map(|it| (it.op.name, it.number)).collect();
    let unique: BTreeSet<_> = drawn.iter().collect();
    assert_eq!(unique.len(), drawn.len());
    assert_eq!(drawn[..2], [("tensor.gather", 0), ("tensor.gather", 1)]);
    for (name, each) in [("tensor.neg", 1), ("loss.mse", 2), ("tensor.gather", 1 << FAR)] {
        let numbers: BTreeSet<u64> = drawn.iter().filter(|(op, _)| *op == name).map(|(_, number)| *number).collect();
        assert_eq!(numbers, (0..3 * each).collect(), "{name}");
    }
}

fn difference(class: Class, what: &str) -> Difference {
    Difference {
        class,
        what: what.into(),
        op: "tensor.log".into(),
        rank: None,
        signature: None,
        device: "cpu".into(),
        detail: "element 0: 1 before, 2 after".into(),
        before: "Ok: <1>".into(),
        after: "panic at candle-core/src/op.rs:7: a|b".into(),
        case: "op = \"tensor.log\"\n".into(),
        file: "findings/x.toml".into(),
        replay: ["snuffer replay findings/x.toml", "snuffer replay findings/x.toml --candle new"].map(String::from),
        minimal: true,
    }
}

#[test]
fn reports_say_what_happens_and_how_to_run_it() {
    let [worse, better] =
        [(Class::Changed, "a < b"), (Class::NewlyPassing, "no more: c")].map(|(class, what)| difference(class, what));
    let of = |differences| Comparison {
        differences,
        base: "candle 1".into(),
        head: "candle 2".into(),
        ..Comparison::default()
    };
    let both = of(vec![worse, better]);
    let plain = both.text();
    assert!(plain.contains("changed         a < b\n") && plain.contains("1 changed, 1 newly passing\n"), "{plain}");
    assert!(plain.contains("replay: snuffer replay findings/x.toml\n"), "{plain}");
    let markdown = both.markdown();
    for part in [
        "## candle 2 against candle 1",
        "| changed | a &lt; b | cpu |",
        "a\\|b",
        "snuffer replay case.toml --candle new",
    ] {
        assert!(markdown.contains(part), "no `{part}` in {markdown}");
    }
    assert_eq!(markdown.matches("<details>").count(), markdown.matches("</details>").count());
    let sarif = both.sarif();
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!((results.len(), &results[0]["ruleId"]), (1, &"changed".into()), "what is better is no alert");
    assert_eq!(
        (&place["artifactLocation"]["uri"], &place["region"]["startLine"]),
        (&"candle-core/src/op.rs".into(), &7.into())
    );
    assert!(both.needs_a_look() && !of(vec![difference(Class::NewlyPassing, "x")]).needs_a_look());
}

#[test]
fn a_candle_is_no_different_from_itself() {
    let store = tempfile::tempdir().expect("a folder");
    let compared = crate::cli::snuffer(store.path(), &["compare", snuffer::CANDLE, snuffer::CANDLE]);
    assert_eq!(
        (code(&compared), text(&compared.stdout)),
        (0, "no difference\nthe sources of both are the same\n".into())
    );
    let unknown = crate::cli::snuffer(store.path(), &["compare", snuffer::CANDLE, "nowhere"]);
    assert_eq!(code(&unknown), 1, "{}", text(&unknown.stderr));
}
