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

/// A sum of tensors whose shapes do not match.
fn mismatched() -> Case {
    Case::new("tensor.add").input("lhs", of(DType::U8, &[255.0])).input("rhs", of(DType::U8, &[1.0, 1.0]))
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
        ("an overflow of elements", overflow(), adds.clone(), "partly"),
        ("an overflow of elements before a check", mismatched(), adds, "skip: integers overflow before a check"),
        ("an overflow of sizes", unspecified(), indexes.clone(), "crash: panic: layout.rs (contract)"),
        (
            "an overflow of sizes before a check",
            mismatched(),
            indexes,
            "refusal: invalid not refused: shapes do not match (contract)",
        ),
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
    let copy_panics = Observation {
        contiguous: Some(panicked("candle-core/src/tensor.rs:1", "a panic")),
        ..beside_a_sibling(refused(), returned(&[1.0]))
    };
    let seen = verdict(&added, &[copy_panics]);
    assert!(!seen.contains("siblings"), "the call is rejected because of its layout: {seen}");
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
    let integers = [1 << 53, (1 << 53) + 1].map(Value::Int).to_vec();
    let large = |op: &str| Case::new(op).input("x", Tensor::new(DType::I64, vec![2], integers.clone()));
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
        (large("tensor.argmax"), vec![], vec![1.0], vec![2.0], "outside its range"),
        // Integers that f64 does not tell apart: the larger one is known.
        (large("tensor.argmax"), vec![], vec![1.0], vec![0.0], "outside its range"),
        (large("tensor.argmin"), vec![], vec![0.0], vec![1.0], "outside its range"),
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

/// Laws of outputs whose elements the reference knows. They are asked here directly: it would notice the same results first.
#[test]
fn an_invariant_notices_a_wrong_result_by_itself_and_no_right_one() {
    let f32s = |op: &str, x: &[f64]| Case::new(op).input("x", of(DType::F32, x));
    let row = |op: &str, x: &[f64]| {
        let x = Tensor { shape: vec![1, x.len()], ..of(DType::F32, x) };
        Case::new(op).input("x", x).param("dim", 1_usize)
    };
    let sums = |op: &str, x: &[f64]| f32s(op, x).param("dims", vec![0_usize]);
    let bce = |target: f64| {
        let case = Case::new("loss.binary_cross_entropy_with_logit").input("inp", of(DType::F32, &[3.0]));
        case.input("target", of(DType::F32, &[target]))
    };
    let scatter = |ids: &[f64]| {
        let case = Case::new("tensor.scatter").input("x", of(DType::F32, &[0.0; 3])).input("ids", of(DType::U32, ids));
        case.input("src", of(DType::F32, &[1.0, 2.0, 3.0])).param("dim", 0_usize)
    };
    let norm = row("op.layer_norm", &[1.0, 2.0, 3.0, 4.0]).input("alpha", of(DType::F32, &[1.0; 4]));
    let mut norm = norm.input("beta", of(DType::F32, &[0.0; 4]));
    norm.params.remove("dim");
    // A weight for each row, which candle broadcasts.
    let by_row = Tensor { shape: vec![2, 1], ..of(DType::F32, &[0.0, 1.0]) };
    let x = Tensor { shape: vec![2, 2], ..of(DType::F32, &[0.0, 0.0, 0.0, 1.0]) };
    let scaled = Case::new("layer.layer_norm_no_bias").input("x", x).input("weight", by_row);
    let [huge, inf, nan] = [3e38, f64::INFINITY, f64::NAN];
    let ln2 = 2_f64.ln();
    for (case, shape, right, wrong) in [
        (row("op.softmax", &[1.0, 1.0]), vec![1, 2], vec![vec![0.5, 0.5]], vec![vec![0.5, 0.25], vec![1.0, 1.0]]),
        (row("op.softmax_last_dim", &[0.0, -huge]), vec![1, 2], vec![vec![1.0, 0.0]], vec![vec![0.0, 0.0]]),
        (
            row("op.log_softmax", &[1e8, 1e8]),
            vec![1, 2],
            vec![vec![-ln2, -ln2]],
            vec![vec![0.0, 0.0], vec![-0.7, -0.7]],
        ),
        (sums("tensor.sum", &[1.0, 2.0]), vec![], vec![vec![3.0]], vec![vec![1.5], vec![4.5], vec![nan]]),
        (sums("tensor.sum", &[-1.0, -2.0]), vec![], vec![vec![-3.0]], vec![vec![-1.5], vec![-4.5], vec![3.0]]),
        (sums("tensor.sum", &[huge, huge]), vec![], vec![vec![inf]], vec![vec![-inf], vec![nan], vec![1.0]]),
        (sums("tensor.sum", &[1.0, -2.0]), vec![], vec![vec![-1.0], vec![7.0]], vec![]),
        (sums("tensor.mean", &[1.0, 3.0]), vec![], vec![vec![2.0]], vec![vec![0.5], vec![3.5], vec![nan]]),
        (
            sums("tensor.log_sum_exp", &[1e4, 1e4]),
            vec![],
            vec![vec![10_000.693]],
            vec![vec![9999.0], vec![10_001.0], vec![inf], vec![nan]],
        ),
        (f32s("tensor.norm", &[3.0, -4.0]), vec![], vec![vec![5.0]], vec![vec![3.5], vec![6.0], vec![nan]]),
        (f32s("tensor.norm", &[1e30, 1e30]), vec![], vec![vec![inf], vec![1.414e30]], vec![vec![1e29], vec![-1.0]]),
        (f32s("tensor.norm", &[1e-30, 0.0]), vec![], vec![vec![0.0], vec![1e-30]], vec![vec![1.0]]),
        (
            row("tensor.var", &[16_777_216.0, 16_777_220.0]),
            vec![1],
            vec![vec![8.0], vec![0.0]],
            vec![vec![1e6], vec![-1.0], vec![nan]],
        ),
        (
            row("tensor.cumsum", &[1.0, 0.0, 2.0]),
            vec![1, 3],
            vec![vec![1.0, 1.0, 3.0]],
            vec![vec![1.0, 0.5, 3.0], vec![1.0, 1.0, nan], vec![0.5, 1.0, 3.0]],
        ),
        (row("tensor.cumsum", &[huge, huge]), vec![1, 2], vec![vec![huge, inf]], vec![vec![inf, huge]]),
        (row("tensor.max", &[1.0, 2.0]), vec![1], vec![vec![2.0]], vec![vec![1.0], vec![3.0]]),
        (row("tensor.min", &[1.0, 2.0]), vec![1], vec![vec![1.0]], vec![vec![2.0], vec![0.0]]),
        (row("tensor.max", &[1.0, nan]), vec![1], vec![vec![nan], vec![1.0]], vec![]),
        // Each of them is possible, but not all together.
        (norm, vec![1, 4], vec![vec![-1.3416, -0.4472, 0.4472, 1.3416]], vec![vec![-1.7, -1.7, 1.7, 1.7]]),
        (scaled, vec![2, 2], vec![vec![0.0, 0.0, -0.99998, 0.99998]], vec![]),
        (bce(1.0), vec![], vec![vec![0.0486]], vec![vec![-0.5], vec![nan]]),
        (bce(2.0), vec![], vec![vec![-2.951]], vec![]),
        // Fewer ids than sources, and a place that two of them name.
        (scatter(&[1.0, 1.0]), vec![3], vec![vec![0.0, 1.0, 0.0], vec![0.0, 2.0, 0.0]], vec![vec![0.0, 3.0, 0.0]]),
    ] {
        let op = ops::find(&case.op).expect("an op");
        let case = op.complete(&case).into_owned();
        let breaks = |values: &Vec<f64>| {
            let rounded = values.iter().map(|&value| Value::of(DType::F32, value)).collect();
            let output = Tensor::new(DType::F32, shape.clone(), rounded);
            ops::invariants(&case).find_map(|invariant| invariant.law.first_broken(&case, &output))
        };
        for values in right {
            assert_eq!(breaks(&values), None, "{}", case.to_text());
        }
        for values in wrong {
            assert!(breaks(&values).is_some(), "{values:?}\n{}", case.to_text());
        }
    }
}

/// What each rival gets is open, but not what all of them get.
#[test]
fn rivals_get_what_there_is_to_get() {
    let plain = |op: &str, inputs: &[(&str, Tensor)]| {
        let case = Case { backward: Backward::Weighted, ..Case::new(op) };
        inputs.iter().fold(case, |case, (name, tensor)| case.input(name, tensor.clone()))
    };
    let numbers = |values: &[f64]| of(DType::F32, values);
    let scatter = plain(
        "tensor.scatter",
        &[("x", numbers(&[9.0; 3])), ("ids", of(DType::U32, &[1.0, 1.0])), ("src", numbers(&[1.0, 2.0]))],
    );
    let scatter = scatter.param("dim", 0_usize);
    let larger = plain("tensor.maximum", &[("lhs", numbers(&[1.0, 2.0])), ("rhs", numbers(&[1.0, 3.0]))]);
    let largest = plain("tensor.max", &[("x", numbers(&[3.0, 3.0, 1.0]))]).param("dim", 0_usize);
    let image = Tensor { shape: vec![1, 1, 1, 4], ..numbers(&[5.0, 5.0, 1.0, 2.0]) };
    let pooled = plain("tensor.max_pool2d", &[("x", image)]).param("kh", 1_usize).param("kw", 2_usize);
    // The weights of the places are 1, 2 and -1.
    for (case, output, gradients, expected) in [
        (&scatter, (vec![3], vec![9.0, 2.0, 9.0]), vec![("src", vec![2.0, 0.0]), ("x", vec![1.0, 0.0, -1.0])], None),
        (&scatter, (vec![3], vec![9.0, 1.0, 9.0]), vec![("src", vec![2.0, 2.0]), ("x", vec![1.0, 0.0, -1.0])], None),
        (
            &scatter,
            (vec![3], vec![9.0, 2.0, 9.0]),
            vec![("src", vec![1.0, 1.0]), ("x", vec![1.0, 0.0, -1.0])],
            Some("gradient of src, among equals"),
        ),
        (
            &scatter,
            (vec![3], vec![9.0, 2.0, 9.0]),
            vec![("src", vec![2.0, 0.0]), ("x", vec![1.0, 2.0, -1.0])],
            Some("gradient of x"),
        ),
        (&larger, (vec![2], vec![1.0, 3.0]), vec![("lhs", vec![0.5, 0.0]), ("rhs", vec![0.5, 2.0])], None),
        (&larger, (vec![2], vec![1.0, 3.0]), vec![("lhs", vec![0.0, 0.0]), ("rhs", vec![1.0, 2.0])], None),
        (
            &larger,
            (vec![2], vec![1.0, 3.0]),
            vec![("lhs", vec![1.0, 0.0]), ("rhs", vec![1.0, 2.0])],
            Some("gradient of lhs, among equals"),
        ),
        (&largest, (vec![], vec![3.0]), vec![("x", vec![0.5, 0.5, 0.0])], None),
        // They add up to the whole, but none can have more than that.
        (&largest, (vec![], vec![3.0]), vec![("x", vec![3.0, -2.0, 0.0])], Some("gradient of x, among equals")),
        (&pooled, (vec![1, 1, 1, 2], vec![5.0, 2.0]), vec![("x", vec![0.5, 0.5, 0.0, 2.0])], None),
        (
            &pooled,
            (vec![1, 1, 1, 2], vec![5.0, 2.0]),
            vec![("x", vec![-1.0, 2.0, 0.0, 2.0])],
            Some("gradient of x, among equals"),
        ),
    ] {
        let tensor = |name: &str, values: &[f64]| Tensor { shape: case.inputs[name].shape.clone(), ..numbers(values) };
        let gradients = gradients.iter().map(|(name, values)| (name.to_string(), tensor(name, values))).collect();
        let (shape, values) = output;
        let outputs = vec![Tensor { shape, ..numbers(&values) }];
        let backward = Gradients::Returned(Store { gradients, ..Store::default() });
        let seen = Observation::new(CPU, Outcome::Returned(Returned { outputs, backward, ..Returned::default() }));
        let wanted = expected.map_or("pass".to_string(), |site| format!("wrong: wrong value: {site} (gradient)"));
        let judged = verdict(case, &[seen]);
        assert!(judged == wanted || expected.is_none() && judged == "partly", "{judged}\n{}", case.to_text());
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
