//! Sequences: blame, minimization and generation.

use snuffer::case::{Backward, Case};
use snuffer::device::Device;
use snuffer::exec::{Deadline, Executor, WorkerSpec};
use snuffer::generate::Mode;
use snuffer::hunt::Sample;
use snuffer::investigate::blame;
use snuffer::ops::{self, Contract};
use snuffer::oracle::{Evidence, judge};
use snuffer::settle::{Settings, settle};
use snuffer::tensor::{DType, Tensor, Value};

fn executor() -> Executor {
    Executor::start(&[Device::Cpu], &WorkerSpec::default()).expect("a worker starts")
}

/// `log_softmax`, then the fused softmax, which has no gradient, then a loss.
fn lost_gradient() -> Case {
    let x = Tensor::new(DType::F32, vec![1, 2], vec![Value::Float(0.5), Value::Float(1.0)]);
    let target = Tensor::new(DType::F32, vec![1, 2], vec![Value::Float(0.0); 2]);
    let sequence = Case { backward: Backward::Sum, ..Case::new("sequence") };
    let first = Case::new("op.log_softmax").input("x", x).param("dim", 1_usize);
    let last = Case::new("loss.mse").input("target", target);
    sequence.then(first).then(Case::new("op.softmax_last_dim")).then(last)
}

#[test]
fn a_sequence_survives_its_text_and_its_calls() {
    let case = lost_gradient();
    assert_eq!(Case::parse(&case.to_text()).expect("its own text"), case);
    assert_eq!(case.with_calls(case.calls()), case);
    assert_eq!(case.calls()[2].op, "loss.mse");
    assert!(case.inputs.contains_key("3.target") && case.params.contains_key("1.dim"));
}

#[test]
fn blame_names_the_step_that_loses_the_gradient() {
    let blame = blame(&mut executor(), &lost_gradient()).expect("the harness survives").expect("a step is at fault");
    assert_eq!((blame.step, blame.op.name, blame.backward), (2, "op.softmax_last_dim", true));
    assert_eq!(blame.to_string(), "step 2, op.softmax_last_dim backward on cpu: missing (gradient)");
}

#[test]
fn a_correct_sequence_has_no_blame() {
    let mut case = lost_gradient();
    case.backward = Backward::None;
    assert!(blame(&mut executor(), &case).expect("the harness survives").is_none());
}

#[test]
fn a_step_after_a_constant_bound_still_rounds_to_the_dtype() {
    let x = Tensor::new(DType::F32, vec![1], vec![Value::Float(-2.0)]);
    let bounded = Case::new("tensor.clamp").input("x", x).param("min", 2f64.powi(-19)).param("max", 16.0);
    let case = Case::new("sequence").then(bounded).then(Case::new("tensor.log"));
    assert!(blame(&mut executor(), &case).expect("the harness survives").is_none());
}

#[test]
fn a_failing_sequence_is_minimized_to_the_steps_that_matter() {
    let (mut executor, case) = (executor(), lost_gradient());
    let observations = executor.observe(&case, Deadline::Full).expect("the harness survives");
    let sequence = ops::find("sequence").expect("registered");
    let signatures = judge(&Evidence::new(sequence, &case, &observations)).signatures("sequence");
    let signature = signatures.into_iter().next().expect("a gradient is lost");
    let settled = settle(&mut executor, case, &signature, Settings::default());
    let settled = settled.expect("the harness survives");
    let finding = settled.finding.expect("it happens again");
    assert_eq!(finding.case.steps, ["op.softmax_last_dim"], "{}", finding.case.to_text());
}

#[test]
fn drawn_sequences_have_two_to_five_steps() {
    let sequence = ops::find("sequence").expect("registered");
    let mut lengths = std::collections::BTreeMap::<usize, u32>::new();
    for index in 0..500 {
        let case = Sample::nth(&[sequence], &[Mode::Valid], 3, index).drawn.case;
        *lengths.entry(case.steps.len()).or_default() += 1;
    }
    let whole: u32 = lengths.range(2..=5).map(|(_, count)| count).sum();
    assert!(whole >= 475 && lengths.len() >= 4, "{lengths:?}");
}

#[test]
fn integers_that_overflow_in_a_later_step_are_open_as_in_a_single_call() {
    let ones = |count: i64| {
        let text = format!(
            "op = \"sequence\"\nsteps = [\"tensor.eq\", \"tensor.sum\"]\n[params]\n\"1.form\" = \"scalar\"\n\"1.scalar\" = 1.0\n\
             \"2.dims\" = [0]\n[inputs.\"1.lhs\"]\ndtype = \"u32\"\nshape = [{count}]\nvalues.fill.constant = 1\n"
        );
        let case = Case::parse(&text).expect("a case");
        ops::find("sequence").expect("an op").contract(&case)
    };
    assert!(matches!(ones(255), Contract::Accepts { .. }));
    assert_eq!(ones(256), Contract::Unspecified(ops::why::OVERFLOW));
}
