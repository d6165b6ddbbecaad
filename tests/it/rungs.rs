//! What holds where the result of a call is not specified: each rung notices an outcome that no other oracle does.

use snuffer::case::{Backward, Case};
use snuffer::device::Device;
use snuffer::ops::{self, Contract};
use snuffer::oracle::{Evidence, Rank, Verdict, judge};
use snuffer::outcome::{Gradients, Observation, Outcome, Panic, Phase, Refusal, Returned, Store};
use snuffer::tensor::{DType, Tensor, Value};

const CPU: Device = Device::Cpu;
const SIM: Device = Device::Sim(0);

fn of(dtype: DType, values: &[f64]) -> Tensor {
    let tensor = |text: String| toml::from_str(&text).expect("a tensor");
    let listed: Vec<String> = values
        .iter()
        .map(|value| if dtype.is_float() { format!("{value:?}").to_lowercase() } else { value.to_string() })
        .collect();
    tensor(format!("dtype = \"{dtype}\"\nshape = [{}]\nvalues = {{ list = [{}] }}", values.len(), listed.join(", ")))
}

/// A sum over no dimension.
fn unspecified() -> Case {
    Case::new("tensor.sum").input("x", of(DType::F32, &[2.0, 3.0])).param("dims", Vec::<usize>::new())
}

/// A sum that overflows.
fn overflow() -> Case {
    Case::new("tensor.add").input("lhs", of(DType::U8, &[255.0])).input("rhs", of(DType::U8, &[1.0]))
}

/// A cache of so many positions, whose keys and values have different shapes.
fn cache(max: i64) -> Case {
    let (k, v) = (of(DType::F32, &[1.0]), of(DType::F32, &[1.0, 2.0]));
    Case::new("cache.kv").input("k0", k).input("v0", v).param("max", max)
}

fn returned(values: &[f64]) -> Outcome {
    Outcome::Returned(Returned { outputs: vec![of(DType::F32, values)], ..Returned::default() })
}

fn refused() -> Outcome {
    Outcome::Rejected(Refusal { variant: "Msg".into(), message: "no".into() })
}

fn panicked(place: &str, message: &str) -> Outcome {
    Outcome::Panicked(Panic { phase: Phase::Forward, place: place.into(), message: message.into() })
}

/// The verdict: the main violation with its oracle and rank, or how far the case was judged.
fn verdict(case: &Case, seen: &[Observation]) -> String {
    let op = ops::find(&case.op).expect("an op");
    match judge(&Evidence::new(op, case, seen)) {
        Verdict::Pass => "pass".to_string(),
        Verdict::Partly(_) => "partly".to_string(),
        Verdict::Skip(why) => format!("skip: {why}"),
        Verdict::Fail(violations) => {
            let signature = violations[0].signature(&case.op);
            let rank: Rank = signature.rank();
            format!("{rank}: {}: {} ({})", signature.kind, signature.site, signature.oracle)
        }
    }
}

/// An observation on the CPU, beside one of the same values in contiguous tensors.
fn in_a_view(viewed: Outcome, contiguous: Outcome) -> Observation {
    Observation { contiguous: Some(contiguous), ..Observation::new(CPU, viewed) }
}

#[test]
fn the_floor_holds_on_any_input() {
    let late = || Outcome::TimedOut(Phase::Forward);
    let exhausted = || Outcome::OutOfMemory(Phase::Forward);
    let adds = panicked("candle-core/src/op.rs:1", "attempt to add with overflow");
    let indexes = panicked("candle-core/src/layout.rs:1", "attempt to multiply with overflow");
    for (what, case, outcome, expected) in [
        ("a result", unspecified(), returned(&[1.0, 2.0]), "partly"),
        ("a refusal", unspecified(), refused(), "partly"),
        ("a panic", unspecified(), panicked("candle-core/src/op.rs:1", "oh"), "crash: panic: op.rs (contract)"),
        ("an overflow of elements", overflow(), adds, "partly"),
        ("an overflow of sizes", unspecified(), indexes, "crash: panic: layout.rs (contract)"),
        ("no end", unspecified(), late(), "crash: hang: forward (contract)"),
        ("all memory", unspecified(), exhausted(), "crash: out of memory: forward (contract)"),
        ("no end of what asks for much", cache(1 << 20), late(), "partly"),
        ("the memory that was asked for", cache(1 << 20), exhausted(), "partly"),
        ("all memory for a small cache", cache(4), exhausted(), "crash: out of memory: forward (contract)"),
    ] {
        let got = verdict(&case, &[Observation::new(CPU, outcome)]);
        let got = got.replace("candle-core/src/", "");
        assert_eq!(got, expected, "{what}");
    }
}

#[test]
fn devices_agree_whether_they_accept_a_call() {
    let both = |cpu, sim| [Observation::new(CPU, cpu), Observation::new(SIM, sim)];
    let one = "limit: only one accepts: Msg (agreement)";
    assert_eq!(verdict(&unspecified(), &both(returned(&[1.0]), refused())), one);
    assert_eq!(verdict(&unspecified(), &both(refused(), returned(&[1.0]))), one);
    assert_eq!(verdict(&unspecified(), &both(refused(), refused())), "partly");
    let values = |cpu: &[f64], sim: &[f64]| verdict(&unspecified(), &both(returned(cpu), returned(sim)));
    assert_eq!(values(&[1.0], &[1.1]), "partly", "no value is specified");
    let differ = "wrong: wrong value:  (agreement)";
    assert_eq!(values(&[1.0], &[2.0]), differ);
    assert_eq!(values(&[1.0], &[f64::INFINITY]), differ);
    let bytes =
        |byte: f64| Outcome::Returned(Returned { outputs: vec![of(DType::U8, &[byte])], ..Returned::default() });
    let cast = Case::new("tensor.to_dtype").input("x", of(DType::F32, &[300.0])).param("to", "u8");
    for case in [overflow(), cast] {
        assert_eq!(verdict(&case, &both(bytes(255.0), bytes(255.0))).replace("pass", "partly"), "partly");
        assert_eq!(verdict(&case, &both(bytes(255.0), bytes(44.0))), differ, "{}", case.op);
    }
    let longer = verdict(&unspecified(), &both(returned(&[1.0]), returned(&[1.0, 1.0])));
    assert_eq!(longer, "wrong: wrong shape:  (agreement)");
}

#[test]
fn a_view_and_its_contiguous_copy_are_both_accepted_or_both_refused() {
    let mut view = unspecified();
    view.inputs.get_mut("x").expect("an input").view.step = vec![2];
    let of = |viewed, contiguous| verdict(&view, &[in_a_view(viewed, contiguous)]);
    assert_eq!(of(refused(), returned(&[1.0])), "limit: limitation: in a view (layout)");
    assert_eq!(of(returned(&[1.0]), refused()), "limit: limitation: in contiguous tensors (layout)");
    assert_eq!(of(refused(), refused()), "partly");
    assert_eq!(of(returned(&[1.0, 2.0]), returned(&[1.0, 2.0])), "partly");
    assert_eq!(of(returned(&[1.0, 9.0]), returned(&[1.0, 2.0])), "wrong: wrong value:  (layout)");
}

#[test]
fn a_refusal_because_of_the_layout_is_a_limitation() {
    let text = "op = \"op.softmax_last_dim\"\n[inputs.x]\ndtype = \"f32\"\nshape = [2, 2]\nview = { order = [1, 0] }\n\
                values = { list = [1.0, 1.0, 1.0, 1.0] }";
    let case = Case::parse(text).expect("a case");
    let half = Tensor { shape: vec![2, 2], ..of(DType::F32, &[0.5; 4]) };
    let right = || Outcome::Returned(Returned { outputs: vec![half.clone()], ..Returned::default() });
    let seen = |viewed, contiguous| verdict(&case, &[in_a_view(viewed, contiguous)]);
    assert_eq!(seen(right(), right()), "pass");
    assert_eq!(seen(refused(), right()), "limit: limitation: in a view (contract)");
    assert_eq!(seen(refused(), refused()), "refusal: refused valid: Msg (contract)");
}

/// An observation on the CPU, beside one of the call that candle has for the same.
fn beside_a_sibling(own: Outcome, sibling: Outcome) -> Observation {
    Observation { sibling: Some(sibling), ..Observation::new(CPU, own) }
}

#[test]
fn two_calls_for_one_thing_are_both_accepted_or_both_refused_and_agree() {
    // Nothing is added, so nothing is promised.
    let added = Case::new("tensor.add").input("lhs", of(DType::F32, &[])).input("rhs", of(DType::F64, &[]));
    let of = |own, sibling| verdict(&added, &[beside_a_sibling(own, sibling)]);
    assert_eq!(of(refused(), returned(&[1.0])), "limit: only one accepts: the broadcasting form accepts (siblings)");
    assert_eq!(of(returned(&[1.0]), refused()), "limit: only one accepts: the broadcasting form refuses (siblings)");
    assert_eq!(of(returned(&[1.0]), returned(&[2.0])), "wrong: differs: the broadcasting form (siblings)");
    assert_eq!(of(returned(&[1.0]), returned(&[1.0, 2.0])), "wrong: differs: the broadcasting form (siblings)");
    assert_eq!(of(returned(&[f64::NAN]), returned(&[2.0])), "partly", "two formulas may overflow in different places");
    assert_eq!(of(refused(), refused()), "partly");
    let in_a_view = Observation { contiguous: Some(returned(&[1.0])), ..beside_a_sibling(refused(), returned(&[1.0])) };
    assert_eq!(verdict(&added, &[in_a_view]), "limit: limitation: in a view (layout)");
}

#[test]
fn a_dtype_that_only_one_of_two_calls_takes_is_a_limitation() {
    let case = Case::new("op.softmax_last_dim").input("x", of(DType::F8e4m3, &[1.0, 2.0]));
    let seen = verdict(&case, &[beside_a_sibling(refused(), returned(&[0.5, 0.5]))]);
    assert_eq!(seen, "limit: only one accepts: op.softmax takes the dtype (siblings)");
    assert_eq!(verdict(&case, &[beside_a_sibling(refused(), refused())]), "pass");
}

/// The reference knows none of these values: a step overflows, a bound is wider than the range, or an order is open.
#[test]
fn an_invariant_holds_where_the_reference_knows_no_value() {
    let unary = |op: &str, x: &[f64]| Case::new(op).input("x", of(DType::F16, x));
    let loss = |op: &str| Case::new(op).input("inp", of(DType::F16, &[400.0])).input("target", of(DType::F16, &[0.0]));
    let attention = || {
        let tensor = |values: &[f64]| Tensor { shape: vec![1, 2, 1, 1], ..of(DType::F32, values) };
        let (q, k) = (tensor(&[3e30, 3e30]), tensor(&[3e30, -3e30]));
        Case::new("attention.flash_attn").input("q", q).input("k", k).input("v", tensor(&[1.0, 2.0]))
    };
    let scatter = || {
        let ids = Tensor { dtype: DType::U32, ..of(DType::U32, &[1.0, 1.0]) };
        Case::new("tensor.scatter").input("x", of(DType::F16, &[7.0, 7.0, 7.0])).input("ids", ids)
    };
    let scatter = || scatter().input("src", of(DType::F16, &[1.0, 2.0]));
    // Close to each other, but further apart than roundoffs: a variance that is a difference of squares is lost.
    let norm = |op: &str| {
        let row = |values: &[f64]| Tensor { shape: vec![1, 4], ..of(DType::F32, values) };
        let x = row(&[16_777_216.0, 16_777_220.0, 16_777_224.0, 16_777_228.0]);
        let [weight, bias] = if op.starts_with("op.") { ["alpha", "beta"] } else { ["weight", "bias"] };
        let case = Case::new(op).input("x", x).input(weight, of(DType::F32, &[1.0; 4]));
        if op.contains("rms") { case } else { case.input(bias, of(DType::F32, &[0.0; 4])) }
    };
    let arg_sort = |values| unary("tensor.arg_sort_last_dim", values);
    let standard = vec![-1.3416, -0.4472, 0.4472, 1.3416];
    let nan = f64::NAN;
    // Integers that f64 does not tell apart.
    let large = [1 << 53, (1 << 53) + 1].map(Value::Int).to_vec();
    let alike = Case::new("tensor.argmax").input("x", Tensor::new(DType::I64, vec![2], large));
    for (case, shape, right, wrong, broken) in [
        (
            norm("op.layer_norm"),
            vec![1, 4],
            standard.clone(),
            vec![-1897.0, -632.0, 632.0, 1897.0],
            "outside its range",
        ),
        (norm("op.layer_norm"), vec![1, 4], standard.clone(), vec![nan; 4], "outside its range"),
        (norm("op.layer_norm_slow"), vec![1, 4], standard.clone(), vec![0.0, 0.0, 0.0, 10.0], "outside its range"),
        (norm("layer.layer_norm"), vec![1, 4], standard, vec![nan; 4], "outside its range"),
        (loss("loss.mse"), vec![], vec![f64::INFINITY], vec![-1.0], "outside its range"),
        (loss("loss.mse"), vec![], vec![f64::INFINITY], vec![nan], "NaN of finite values"),
        (
            unary("tensor.exp", &[11.085_937_5, 11.093_75]),
            vec![2],
            vec![65248.0, 65504.0],
            vec![65248.0, 61000.0],
            "out of order",
        ),
        (attention(), vec![1, 1, 2, 1], vec![1.0, 1.5], vec![1.0, 3.5], "outside what is averaged"),
        (scatter(), vec![3], vec![7.0, 2.0, 7.0], vec![7.0, 3.0, 7.0], "none of the sources"),
        (alike, vec![], vec![1.0], vec![2.0], "outside its range"),
        (arg_sort(&[2.0, 2.0]), vec![2], vec![1.0, 0.0], vec![1.0, 1.0], "out of order"),
        (arg_sort(&[2.0, nan, 1.0]), vec![3], vec![2.0, 0.0, 1.0], vec![0.0, 2.0, 1.0], "out of order"),
    ] {
        let dtype = match ops::find(&case.op).expect("an op").contract(&case) {
            Contract::Accepts { outputs, .. } => outputs[0].0,
            other => panic!("{other:?}"),
        };
        let returned = |values: &[f64]| {
            let output = Tensor { shape: shape.clone(), ..of(dtype, values) };
            Outcome::Returned(Returned { outputs: vec![output], ..Returned::default() })
        };
        let judged = |values: &[f64]| verdict(&case, &[Observation::new(CPU, returned(values))]);
        assert!(["pass", "partly"].contains(&judged(&right).as_str()), "{}: {}", case.op, judged(&right));
        assert_eq!(judged(&wrong), format!("wrong: wrong value: {broken} (invariant)"), "{}", case.op);
    }
}

#[test]
fn the_gradient_of_equal_elements_adds_up_to_the_whole() {
    let mut case = Case::new("tensor.max").input("x", of(DType::F32, &[3.0, 3.0, 1.0])).param("dim", 0_usize);
    case.backward = Backward::Sum;
    let with_gradient = |shares: &[f64]| {
        let gradients = [("x".to_string(), of(DType::F32, shares))].into();
        let store = Store { gradients, ..Store::default() };
        let largest = Tensor { shape: vec![], ..of(DType::F32, &[3.0]) };
        let returned = Returned { outputs: vec![largest], backward: Gradients::Returned(store), ..Returned::default() };
        verdict(&case, &[Observation::new(CPU, Outcome::Returned(returned))])
    };
    for shares in [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]] {
        assert_eq!(with_gradient(&shares), "pass", "{shares:?}");
    }
    assert_eq!(with_gradient(&[1.0, 1.0, 0.0]), "wrong: wrong value: gradient of x, among equals (gradient)");
    // Each row has its own whole.
    let rows = |values: &[f64], shape: &[usize]| Tensor { shape: shape.to_vec(), ..of(DType::F32, values) };
    let of_rows = Case { backward: Backward::Sum, ..Case::new("tensor.max").param("dim", 1_usize) };
    let of_rows = of_rows.input("x", rows(&[3.0; 4], &[2, 2]));
    for (shares, expected) in [
        ([0.5, 0.5, 0.0, 1.0], "pass"),
        ([1.0, 1.0, 0.0, 0.0], "wrong: wrong value: gradient of x, in several rows, among equals (gradient)"),
    ] {
        let gradients = [("x".to_string(), rows(&shares, &[2, 2]))].into();
        let store = Store { gradients, ..Store::default() };
        let outputs = vec![of(DType::F32, &[3.0, 3.0])];
        let returned = Returned { outputs, backward: Gradients::Returned(store), ..Returned::default() };
        assert_eq!(verdict(&of_rows, &[Observation::new(CPU, Outcome::Returned(returned))]), expected);
    }
    assert_eq!(with_gradient(&[0.5, 0.0, 0.5]), "wrong: wrong value: gradient of x (gradient)");
}

/// The grid of `x` alone goes on to the next step.
#[test]
fn an_input_that_the_result_does_not_depend_on_needs_no_gradient() {
    let x = of(DType::F32, &[0.0]);
    let mut case = Case::new("sequence").with_calls(vec![
        Case::new("tensor.meshgrid").input("x", x.clone()).input("y", x.clone()),
        Case::new("op.silu"),
    ]);
    case.backward = Backward::Sum;
    let without = |missing: &str, other: &str| {
        let gradients = [(other.to_string(), of(DType::F32, &[0.5]))].into();
        let store = Store { gradients, missing: vec![missing.to_string()], ..Store::default() };
        let output = Tensor { shape: vec![1, 1], ..x.clone() };
        let returned = Returned { outputs: vec![output], backward: Gradients::Returned(store), ..Returned::default() };
        verdict(&case, &[Observation::new(CPU, Outcome::Returned(returned))])
    };
    assert_eq!(without("1.y", "1.x"), "pass");
    assert!(without("1.x", "1.x").starts_with("wrong: missing"), "{}", without("1.x", "1.x"));
}

#[test]
fn what_only_the_code_tells_is_missing_from_the_documentation() {
    let rounded = |x: f64, to: f64| {
        verdict(&Case::new("tensor.round").input("x", of(DType::F32, &[x])), &[Observation::new(CPU, returned(&[to]))])
    };
    assert_eq!(rounded(0.5, 1.0), "limit: undocumented: halves go away from zero (documentation)");
    assert_eq!(rounded(1.5, 2.0), "pass", "to even, and away from zero");
    assert_eq!(rounded(0.5, 0.0), "wrong: wrong value:  (reference)", "the tests of candle say how halves are rounded");
}

#[test]
fn a_second_run_keeps_to_the_floor_too() {
    let again =
        |again| verdict(&unspecified(), &[Observation { again: Some(again), ..Observation::new(CPU, refused()) }]);
    assert_eq!(again(panicked("candle-core/src/layout.rs:1", "oh")), "wrong: differs:  (determinism)");
    assert_eq!(again(panicked("candle-core/src/op.rs:1", "attempt to add with overflow")), "partly");
}
