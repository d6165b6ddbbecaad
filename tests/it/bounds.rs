//! What the bounds of a reference let through: made-up results of small cases, each right or wrong.

use snuffer::case::{Backward, Case, weight};
use snuffer::device::Device;
use snuffer::ops::{self, Contract};
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::outcome::{Gradients, Observation, Outcome, Returned, Store};
use snuffer::tensor::{DType, Fill, Tensor, Value, Values};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// A call of `op` on a vector. Reductions take all of it.
fn of(op: &str, dtype: DType, values: &[f64]) -> Case {
    let case = Case { op: op.to_string(), ..Case::default() }.input("x", vector(dtype, vec![values.len()], values));
    if ["tensor.sum", "tensor.mean"].contains(&op) { case.param("form", "all") } else { case }
}

/// A call of `op` on a vector of equal values.
fn of_equal(op: &str, dtype: DType, count: usize, value: f64) -> Case {
    let mut case = of(op, dtype, &[]);
    let x = case.inputs.get_mut("x").expect("the input");
    x.shape = vec![count];
    x.values = Values::Fill(Fill::constant(Value::Float(value)));
    case
}

fn vector(dtype: DType, shape: Vec<usize>, values: &[f64]) -> Tensor {
    Tensor::new(dtype, shape, values.iter().map(|&value| Value::Float(value)).collect())
}

/// Whether `output`, and this gradient of `x` (of the first step's) if there is one, pass as the result of `case` on the CPU.
fn passes(case: &Case, output: &[f64], gradient: Option<&[f64]>) -> bool {
    let x = if case.steps.is_empty() { "x" } else { "1.x" };
    let op = ops::find(&case.op).expect("an op of the catalog");
    let Contract::Accepts { outputs, .. } = op.contract(case) else { panic!("no valid call: {case:?}") };
    let (dtype, shape) = outputs[0].clone();
    let backward = gradient.map_or(Gradients::NotAsked, |gradient| {
        let of_x = vector(dtype, case.inputs[x].shape.clone(), gradient);
        Gradients::Returned(Store { gradients: [(x.to_string(), of_x)].into(), ..Store::default() })
    });
    let returned = Returned { outputs: vec![vector(dtype, shape, output)], backward, ..Returned::default() };
    let seen = [Observation::new(Device::Cpu, Outcome::Returned(returned))];
    !matches!(judge(&Evidence::new(op, case, &seen)), Verdict::Fail(_))
}

/// Cases with one output element, a right result, and a wrong one.
#[track_caller]
fn tell_apart(rows: &[(Case, f64, f64)]) {
    for (case, right, wrong) in rows {
        assert!(passes(case, &[*right], None), "{right} is right for {case:?}");
        assert!(!passes(case, &[*wrong], None), "{wrong} passes for {case:?}");
    }
}

#[test]
fn special_values_are_compared() {
    use DType::F32;
    tell_apart(&[
        (of("tensor.exp", F32, &[NAN]), NAN, 0.0),
        (of("tensor.sqrt", F32, &[-1.0]), NAN, 0.0),
        (of("tensor.log", F32, &[0.0]), -INF, 0.0),
        (of("tensor.recip", F32, &[0.0]), INF, 0.0),
        (of("tensor.recip", F32, &[-0.0]), -INF, INF),
        (of("tensor.sum", F32, &[NAN, 1.0]), NAN, 1.0),
        (of("tensor.sum", F32, &[INF, 1.0]), INF, 1.0),
        (of("tensor.exp", F32, &[100.0]), INF, 1.0),
        (of("tensor.argmax", F32, &[1.0, NAN, 3.0, NAN]), 1.0, 2.0),
        (of("tensor.argmin", F32, &[1.0, NAN, 0.0, NAN]), 1.0, 2.0),
        (of("tensor.powf", F32, &[2.0]).param("e", INF), INF, NAN),
        (of("tensor.powf", F32, &[-1.0]).param("e", INF), 1.0, NAN),
        (of("tensor.powf", F32, &[1.0]).param("e", NAN), 1.0, NAN),
    ]);
}

#[test]
fn a_mask_shows_as_many_positions_as_the_cache_holds() {
    let parts = |shape: &[usize]| {
        let part = vector(DType::F32, shape.to_vec(), &[0.0, 0.0]);
        move |op: &str| Case::new(op).input("k0", part.clone()).input("v0", part)
    };
    let rotating = parts(&[2])("cache.rotating_mask").param("max", 1_usize);
    assert!(passes(&rotating, &[0.0, 1.0, 1.0, 0.0], None) && !passes(&rotating, &[0.0, 1.0, 0.0, 0.0], None));
    let scattered = parts(&[1, 1, 2, 1])("cache.scattered_mask").param("context", 1_usize);
    assert!(passes(&scattered, &[0.0, -INF, -INF, 0.0], None) && !passes(&scattered, &[0.0, -INF, 0.0, 0.0], None));
}

#[test]
fn an_infinity_spoils_only_what_depends_on_the_order_of_evaluation() {
    let undecided = of("tensor.sum", DType::F32, &[INF, -INF]);
    assert!(passes(&undecided, &[0.0], None) && passes(&undecided, &[NAN], None));
    let masked = of("op.softmax", DType::F32, &[-INF, 0.0, 0.0]);
    assert!(passes(&masked, &[0.0, 0.5, 0.5], None));
    assert!(!passes(&masked, &[0.0, 0.5, 0.25], None), "beside a mask everything passes");
}

#[test]
fn a_sum_that_loses_a_term_is_wrong_at_every_size() {
    for count in [3, 257, 1025, 8193, 65_536] {
        let (ones, total) = (of_equal("tensor.sum", DType::F32, count, 1.0), count as f64);
        assert!(passes(&ones, &[total], None));
        assert!(!passes(&ones, &[total - 1.0], None), "{} passes for {count}", total - 1.0);
    }
}

#[test]
fn a_sum_that_is_rounded_on_the_way_may_be_a_little_off_but_not_by_a_block() {
    let tenths = of_equal("tensor.sum", DType::F32, 65_536, f64::from(0.1_f32));
    let total = 65_536.0 * f64::from(0.1_f32);
    // What adding up one by one in `f32` gives.
    let in_turn = f64::from((0..65_536).fold(0.0_f32, |sum, _| sum + 0.1));
    assert!(in_turn != total && passes(&tenths, &[in_turn], None));
    assert!(!passes(&tenths, &[total - 1024.0 * 0.1], None));
}

#[test]
fn a_sum_of_equal_terms_may_not_stall() {
    // What adding up one by one in `f32` gives: 4 % and 11 % less. PyTorch's sums are exact.
    for (value, count, in_turn) in [(5.0, 1 << 22, 20_132_660.0), (3.0, 1 << 23, 22_369_622.0)] {
        let case = of_equal("tensor.sum", DType::F32, count, value);
        tell_apart(&[(case, value * count as f64, in_turn)]);
    }
}

#[test]
fn half_precision_is_held_to_its_own_roundoff() {
    // exp of 0, 1, 2, 3 over their sum, and the results of a computation in f32.
    let exps = [0.0_f64, 1.0, 2.0, 3.0].map(f64::exp);
    let shares = exps.map(|exp| DType::Bf16.round(exp / exps.iter().sum::<f64>()));
    for op in ["op.softmax", "op.softmax_last_dim"] {
        let softmax = of(op, DType::Bf16, &[0.0, 1.0, 2.0, 3.0]);
        assert!(passes(&softmax, &shares, None));
        assert!(!passes(&softmax, &shares.map(|share| share * 1.15), None), "{op} may be 15 % off");
    }
    let values: Vec<f64> = (0..257).map(|i| f64::from(i % 5) - 2.0).collect();
    let mean = values.iter().sum::<f64>() / 257.0;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let [unbiased, biased] = [256.0, 257.0].map(|count| DType::F16.round(squares / count));
    tell_apart(&[(of("tensor.var", DType::F16, &values).param("dim", 0_usize), unbiased, biased)]);
}

#[test]
fn what_overflows_on_the_way_is_promised_where_pytorch_returns_it() {
    use DType::F16;
    tell_apart(&[
        (of("tensor.norm", F16, &[300.0, 400.0]), 500.0, INF),
        (of("tensor.mean", F16, &[60_000.0, 60_000.0]), 60_000.0, INF),
        (of("op.sigmoid", F16, &[-12.0]), F16.round(1.0 / (1.0 + 12.0_f64.exp())), 0.0),
    ]);
}

#[test]
fn one_wrong_entry_of_a_gradient_is_found_wherever_it_is() {
    let values: Vec<f64> = (0..100).map(|i| f64::from(i % 7) - 3.0).collect();
    let case = Case { backward: Backward::Weighted, ..of("tensor.sqr", DType::F32, &values) };
    let outputs: Vec<f64> = values.iter().map(|x| x * x).collect();
    let right: Vec<f64> = values.iter().enumerate().map(|(i, x)| 2.0 * x * weight(i)).collect();
    assert!(passes(&case, &outputs, Some(&right)));
    for place in 0..right.len() {
        let mut wrong = right.clone();
        wrong[place] += 0.5;
        assert!(!passes(&case, &outputs, Some(&wrong)), "a wrong entry {place} of 100 passes");
    }
}

#[test]
fn integers_that_f64_rounds_are_compared_as_far_as_it_tells_them_apart() {
    let case = |large: i64| {
        let values = vec![Value::Int(1), Value::Int(large)];
        Case::new("tensor.sum").input("x", Tensor::new(DType::I64, vec![2], values)).param("form", "all")
    };
    let large = (1 << 53) + 1;
    assert!(passes(&case(large), &[(large + 1) as f64], None));
    assert!(!passes(&case(large), &[(large + 64) as f64], None));
    tell_apart(&[(case(1 << 50), (1_i64 << 50) as f64 + 1.0, (1_i64 << 50) as f64)]);
}

/// The norm of copies of `x`, in f16: the gradients of the copies are 237 and -79, and cancel.
const COPIES: &str = r#"
op = "sequence"
steps = ["tensor.pad_with_same", "layer.layer_norm_no_bias"]
backward = "sum"
params = { "1.left" = 1, "1.right" = 2 }
inputs."1.x" = { dtype = "f16", shape = [1], values.list = [0.0] }
inputs."2.weight" = { dtype = "f16", shape = [4], values.list = [1.0, 0.0, 0.0, 0.0] }
"#;

/// Two values that f16 does not tell apart: which is the largest?
const NEAR: &str = r#"
op = "sequence"
steps = ["op.layer_norm_slow", "op.hard_sigmoid", "tensor.max"]
backward = "sum"
params = { "1.eps" = 0.001 }
inputs."1.alpha" = { dtype = "f16", shape = [2], values.list = [0.0, 1.0] }
inputs."1.beta" = { dtype = "f16", shape = [2], values.list = [0.0, 0.0] }
inputs."1.x" = { dtype = "f16", shape = [2, 2], values.list = [1.0, -1.0, 1.0, -0.4375] }
"#;

/// A sigmoid that may round to 1, and its floor.
const STEP: &str = r#"
op = "sequence"
steps = ["tensor.div", "op.sigmoid", "tensor.floor", "tensor.max"]
inputs."1.lhs" = { dtype = "f32", shape = [2], values.list = [0.0, 1.0] }
inputs."1.rhs" = { dtype = "f32", shape = [2], values.list = [1.0, 0.00013731792569160461] }
"#;

/// The logarithm of a number that is known to no digit, since a roundoff moves its ceiling.
const CEILING: &str = r#"
op = "sequence"
steps = ["rotary.rope_thd", "tensor.ceil", "tensor.sqr", "tensor.log"]
inputs."1.cos" = { dtype = "f32", shape = [1, 1], values.list = [1.0] }
inputs."1.sin" = { dtype = "f32", shape = [1, 1], values.list = [1.0] }
inputs."1.x" = { dtype = "f32", shape = [1, 1, 1, 2], values.list = [2088960.0, 0.3125] }
"#;

/// Only the first grid flows into the last step, and `y` is not in it.
const UNUSED: &str = r#"
op = "sequence"
steps = ["tensor.div_scalar", "tensor.meshgrid", "tensor.floor"]
backward = "weighted"
inputs."1.x" = { dtype = "f32", shape = [1], values.list = [0.0] }
inputs."2.y" = { dtype = "f32", shape = [2], values.list = [0.0, 0.0] }
"#;

#[test]
fn what_no_output_depends_on_needs_no_gradient() {
    let squares = UNUSED.replace("tensor.floor", "tensor.sqr");
    for (text, missing, expected) in [(UNUSED, "2.y", true), (&squares, "2.y", true), (&squares, "1.x", false)] {
        let case = Case::parse(text).expect("a case");
        let backward = Gradients::Returned(Store { missing: vec![missing.to_string()], ..Store::default() });
        let output = vector(DType::F32, vec![1, 2], &[0.0, 0.0]);
        let returned = Returned { outputs: vec![output], backward, ..Returned::default() };
        let seen = [Observation::new(Device::Cpu, Outcome::Returned(returned))];
        let op = ops::find("sequence").expect("an op");
        let verdict = judge(&Evidence::new(op, &case, &seen));
        assert_eq!(!matches!(verdict, Verdict::Fail(_)), expected, "no gradient of {missing}: {verdict:?}");
    }
}

/// The reciprocal of a 0 whose sign depends on how it was computed.
const SIGN: &str = r#"
op = "sequence"
steps = ["op.leaky_relu", "tensor.recip"]
inputs."1.x" = { dtype = "f32", shape = [], values.list = [-9.0] }
"#;

#[test]
fn a_roundoff_of_one_step_may_decide_the_next() {
    let parsed = |text: &str| Case::parse(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
    for (text, output, gradient) in [
        (COPIES, &[0.0; 4][..], vec![-0.125]),
        (NEAR, &[0.5, 0.333_252], vec![-4.16e-5, 4.16e-5, -1.119e-4, 1.119e-4]),
        (STEP, &[1.0], vec![]),
        (CEILING, &[29.104_353, 29.104_355], vec![]),
        (SIGN, &[INF], vec![]),
    ] {
        let gradient = Some(&gradient[..]).filter(|gradient| !gradient.is_empty());
        assert!(passes(&parsed(text), output, gradient), "{text}");
    }
    // What no roundoff explains is still a mistake.
    assert!(!passes(&parsed(COPIES), &[0.0; 4], Some(&[-64.0])));
}
