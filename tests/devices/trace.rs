//! The origin of NaN and infinities: the trace names the right call.

use std::collections::BTreeSet;
use std::process::Command;

use snuffer::case::{Backward, Case};
use snuffer::device::Device;
use snuffer::exec::{Worker, WorkerSpec};
use snuffer::generate::Mode;
use snuffer::hunt::Sample;
use snuffer::investigate::{NonFinite, Origin, non_finite_inputs, trace};
use snuffer::ops;
use snuffer::outcome::{Gradients, Outcome, Returned};
use snuffer::store::regression::Regression;
use snuffer::tensor::{DType, Tensor, Value};

use crate::place;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![
    Once: a_trace_entry_includes_the_arguments_of_its_call, what_a_case_holds_from_the_start_is_said_and_blames_no_call, a_step_that_fails_ends_the_trace, a_trace_follows_an_output_into_a_condition;
    Each: each_nan_scenario_has_its_origin, the_named_calls_make_the_non_finite_results_of_drawn_sequences;
    Cuda: replay_prints_a_common_trace_of_several_devices_once
];

/// Scenarios and the first lines of their trace on `here`.
#[rustfmt::skip]
const ORIGINS: &[(&str, &[&str])] = &[
    ("bce-by-hand-without-a-sigmoid", &[
        "step 2, tensor.log forward on here: NaN at [0, 0], 2 of 4",
        "no call backward on here",
    ]),
    ("log-of-a-softmax-that-underflows", &[
        "step 2, tensor.log forward on here: -inf at [0, 0], 1 of 2",
        "step 2, tensor.log backward on here: -inf in the gradient of `x` at [0, 0], 1 of 2",
        "step 1, op.softmax backward on here: NaN in the gradient of `x` at [0, 0], 2 of 2",
    ]),
    ("norm-of-zeros", &[
        "no call forward on here",
        "step 1, tensor.norm backward on here: NaN in the gradient of `x` at [0], 3 of 3",
    ]),
    ("sqrt-of-0", &[
        "step 1, tensor.sqrt forward on here: NaN at [0], 1 of 3",
        "step 1, tensor.sqrt backward on here: NaN in the gradient of `x` at [0], 1 of 3; inf in the gradient of `x` at [1], 1 of 3",
    ]),
    ("nan-from-0-over-0", &[
        "step 1, tensor.div forward on here: NaN at [2], 1 of 3; inf at [0], 1 of 3; -inf at [1], 1 of 3",
        "step 1, tensor.div backward on here: NaN in the gradient of `rhs` at [2], 1 of 3; inf in the gradient of `lhs` at [0], 3 of 3; inf in the gradient of `rhs` at [1], 1 of 3; -inf in the gradient of `rhs` at [0], 1 of 3",
    ]),
    ("exp-overflows", &[
        "step 1, tensor.exp forward on here: inf at [0], 1 of 2",
        "step 1, tensor.exp backward on here: inf in the gradient of `x` at [0], 1 of 2",
    ]),
    ("f16-mse-overflows", &[
        "step 1, loss.mse forward on here: inf",
        "no call backward on here",
    ]),
    ("loss-overflows-in-a-training-step", &[
        "step 1, relation.training_step forward on here: inf in output 1; -inf in output 2; -inf in output 4 at [0, 0], 2 of 2",
    ]),
    ("bce-with-logits-of-20-for-target-0", &[
        "step 1, loss.binary_cross_entropy_with_logit forward on here: inf",
        "step 1, loss.binary_cross_entropy_with_logit backward on here: NaN in the gradient of `inp`; -inf in the gradient of `target`",
    ]),
    ("nan-logits-in-a-loss", &[
        "no call forward on here: the inputs already contain them",
        "no call backward on here: the inputs already contain them",
    ]),
    ("bce-by-hand-after-a-sigmoid", &[
        "no call forward on here",
        "no call backward on here",
    ]),
    ("log-after-clamp", &[
        "no call forward on here",
        "no call backward on here",
    ]),
];

fn worker(device: Device) -> Worker {
    Worker::start(device, &WorkerSpec::default()).expect("a worker starts")
}

fn scenario(name: &str) -> Case {
    let path = place::root().join(format!("corpora/scenarios/{name}.toml"));
    let text = std::fs::read_to_string(path).expect(name);
    Regression::parse(&text).expect(name).case
}

fn each_nan_scenario_has_its_origin(device: Device) {
    let mut worker = worker(device);
    for (name, origins) in ORIGINS {
        let entries = trace(&mut worker, &scenario(name)).expect("the harness survives").entries("here");
        let first_lines: Vec<&str> = entries.iter().filter_map(|entry| entry.lines().next()).collect();
        assert_eq!(first_lines, *origins, "{name} on {device}");
    }
}

fn a_trace_entry_includes_the_arguments_of_its_call() {
    let details = |name| {
        let trace = trace(&mut worker(Device::Cpu), &scenario(name)).expect("the harness survives");
        trace.entries("here").iter().filter_map(|entry| Some(entry.split_once('\n')?.1.to_string())).collect::<Vec<_>>()
    };
    assert_eq!(
        details("bce-by-hand-without-a-sigmoid"),
        ["given `x` -0.5 to 2.0, there -0.5; the reference there is NaN"]
    );
    let exp = "given `x` 1.0 to 89.0, there 89.0";
    let beyond = format!("{exp}; the reference there is 4.4896128191743455e38, too large for f32");
    assert_eq!(details("exp-overflows"), [beyond.as_str(), exp]);
    let softmax =
        "given `x` 0.0 to 200.0, there 0.0; the gradient that reached it 0.0 and -inf at [0, 0], 1 of 2, there -inf";
    assert_eq!(details("log-of-a-softmax-that-underflows")[2], softmax);
    let cast = Case::new("tensor.to_dtype").param("to", "f16");
    let cast = cast.input("x", Tensor::new(DType::I64, vec![1], vec![Value::Int(70_000)]));
    let trace = trace(&mut worker(Device::Cpu), &cast).expect("the harness survives");
    let first = "step 1, tensor.to_dtype forward on here: inf\nthe reference is inf";
    assert_eq!(trace.entries("here"), [first]);
    assert_eq!(details("f16-mse-overflows"), ["given `inp` 0.0 to 300.0; `target` 0.0; the reference is 45000.0"]);
}

fn what_a_case_holds_from_the_start_is_said_and_blames_no_call() {
    let held_by = |name: &str| non_finite_inputs(&scenario(name));
    assert_eq!(held_by("nan-logits-in-a-loss").as_deref(), Some("`inp` 0.0 to 2.0 and NaN at [0, 0], 1 of 4"));
    assert_eq!(held_by("sqrt-of-0"), None);
    let x = Tensor::new(DType::F32, vec![2], vec![Value::Float(1.0), Value::Float(2.0)]);
    let scaled = Case::new("tensor.affine").input("x", x).param("mul", f64::INFINITY).param("add", 0.0);
    assert_eq!(non_finite_inputs(&scaled).as_deref(), Some("`mul` inf"));
    let trace = trace(&mut worker(Device::Cpu), &scaled).expect("the harness survives");
    assert_eq!(trace.entries("here"), ["no call forward on here: the inputs already contain them"]);
}

fn replay_prints_a_common_trace_of_several_devices_once(device: Device) {
    let devices = ["cpu".to_string(), device.to_string()];
    let mut command = Command::new(place::snuffer());
    command.args(["replay", "corpora/scenarios/nan-logits-in-a-loss.toml", "--trace-nan"]);
    command.args(devices.iter().flat_map(|device| ["--device", device]));
    let output = command.current_dir(place::root()).output().expect("snuffer starts");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, details) = stdout.split_once("verdict   pass\n").expect(&stdout);
    let on = devices.join(", ");
    assert_eq!(
        details.lines().collect::<Vec<_>>(),
        [
            "nan       in the inputs of the case: `inp` 0.0 to 2.0 and NaN at [0, 0], 1 of 4",
            &format!("nan       no call forward on {on}: the inputs already contain them"),
            &format!("nan       no call backward on {on}: the inputs already contain them"),
        ]
    );
}

fn a_step_that_fails_ends_the_trace() {
    let mut worker = worker(Device::Cpu);
    let mut entries = |name| trace(&mut worker, &scenario(name)).expect("the harness survives").entries("here");
    let label = "step 2, loss.cross_entropy forward on here ends the trace: \
                 Err: gather invalid index 18446744073709551516 with dim size 3";
    assert_eq!(entries("label-minus-100"), ["no call forward on here", label]);
    let pool = "step 1, tensor.avg_pool2d backward on here ends the trace: \
                Err: backward not supported for avgpool2d if ksize (1, 2) != stride (1, 1)";
    assert_eq!(
        entries("avg-pool-with-stride-without-backward"),
        ["no call forward on here", "no call backward on here", pool]
    );
}

fn a_trace_follows_an_output_into_a_condition() {
    let row = |values: [f64; 2]| Tensor::new(DType::F32, vec![2], values.map(Value::Float).to_vec());
    let equal = Case::new("tensor.eq").input("lhs", row([1.0, 2.0])).input("rhs", row([1.0, 3.0]));
    let choice = Case::new("tensor.where_cond").input("on_true", row([5.0, 6.0])).input("on_false", row([0.0, 0.0]));
    let case = Case { backward: Backward::Sum, ..Case::new("sequence") };
    let case = case.then(equal).then(choice).then(Case::new("tensor.log"));
    let trace = trace(&mut worker(Device::Cpu), &case).expect("the harness survives");
    let firsts =
        trace.entries("here").iter().filter_map(|entry| Some(entry.lines().next()?.to_string())).collect::<Vec<_>>();
    assert_eq!(
        firsts,
        [
            "step 3, tensor.log forward on here: -inf at [1], 1 of 2",
            "step 3, tensor.log backward on here: inf in the gradient of `x` at [1], 1 of 2"
        ]
    );
}

fn the_named_calls_make_the_non_finite_results_of_drawn_sequences(device: Device) {
    let mut worker = worker(device);
    let mut counts = [0; 2];
    for case in drawn(&mut worker) {
        let trace = trace(&mut worker, &case).expect("the harness survives");
        let passes = [trace.forward.origins, trace.backward.map_or(Vec::new(), |pass| pass.origins)];
        assert!(passes.iter().any(|pass| !pass.is_empty()), "no call is named: {}", case.to_text());
        for (pass, count) in passes.iter().zip(&mut counts) {
            *count += pass.len();
        }
        for origin in &passes[0] {
            confirm(origin, &kinds(&returned(&mut worker, &origin.step.call).expect("it returns").outputs));
        }
        for origin in &passes[1] {
            let returned = returned(&mut worker, &with_gradient(origin)).expect("it returns");
            confirm(origin, &kinds(gradients(&returned)));
        }
    }
    assert!(counts.iter().all(|&count| count > 20), "{counts:?} on {device}");
}

/// Drawn sequences of finite numbers that return NaN or infinities, or have such gradients. Without views: candle's convolutions
/// read undefined values around them.
fn drawn(worker: &mut Worker) -> Vec<Case> {
    let sequence = ops::find("sequence").expect("registered");
    let case = |index| Sample::nth(&[sequence], &[Mode::Valid], 11, index).drawn.case.contiguous();
    let mut wrong = |case: &Case| {
        let Some(returned) = returned(worker, case) else { return false };
        non_finite_inputs(case).is_none()
            && !kinds(gradients(&returned).into_iter().chain(&returned.outputs)).is_empty()
    };
    let is_traced = |case: &Case| case.times.others().all(|times| times.get() <= 10);
    (0..).map(case).filter(|case| is_traced(case) && wrong(case)).take(200).collect()
}

fn returned(worker: &mut Worker, case: &Case) -> Option<Returned> {
    match worker.run(case).expect("the harness survives").outcome {
        Outcome::Returned(returned) => Some(returned),
        _ => None,
    }
}

/// That the call by itself makes a NaN or an infinity: which of them is a matter of order where a sum overflows.
fn confirm(origin: &Origin, found: &BTreeSet<NonFinite>) {
    assert!(!found.is_empty(), "alone it returns finite numbers:\n{}", origin.step.call.to_text());
}

/// The call alone, with the gradient that reached it: that of a product with it, summed.
fn with_gradient(origin: &Origin) -> Case {
    let sequence = Case { backward: Backward::Weighted, ..Case::new("sequence") }.then(origin.step.call.clone());
    match &origin.step.incoming_gradient {
        None => sequence,
        Some(gradient) => {
            Case { backward: Backward::Sum, ..sequence }.then(Case::new("tensor.mul").input("rhs", gradient.clone()))
        }
    }
}

fn gradients(returned: &Returned) -> Vec<&Tensor> {
    match &returned.backward {
        Gradients::Returned(store) => store.gradients.values().collect(),
        Gradients::NotAsked | Gradients::Rejected(_) => Vec::new(),
    }
}

fn kinds<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> BTreeSet<NonFinite> {
    let kind = |value: f64| match value {
        _ if value.is_nan() => Some(NonFinite::Nan),
        _ if value.is_infinite() => Some(NonFinite::Infinity),
        _ => None,
    };
    tensors.into_iter().flat_map(Tensor::floats).filter_map(kind).collect()
}
