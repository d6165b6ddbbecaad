//! Sequences: blame, minimization and generation.

use snuffer::case::{Backward, Case, DeviceObject, Times};
use snuffer::device::Device;
use snuffer::examine::BadId;
use snuffer::exec::{Deadline, Executor, WorkerSpec};
use snuffer::generate::Mode;
use snuffer::hunt::Sample;
use snuffer::investigate::blame;
use snuffer::ops::{self, Contract, ReferenceInputs, rule, sequence, why};
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::outcome::Outcome;
use snuffer::program::{ProgramOptions, program, torch};
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
fn what_a_case_says_of_each_step_survives_too_and_has_one_form() {
    let mut case = lost_gradient();
    case.threads.set(2, 3);
    case.devices.set(0, DeviceObject::OwnStream);
    case.times.set(1, Times::new(100).expect("a number of times"));
    let text = case.to_text();
    for line in ["threads = [0, 0, 3]", "devices = [\"own stream\"]", "times = [1, 100]"] {
        assert!(text.contains(line), "{text}");
    }
    assert_eq!(Case::parse(&text).expect("its own text"), case);
    assert_eq!(case.with_calls(case.calls()), case);
    let with_defaults = text.replace("[\"own stream\"]", "[\"own stream\", \"own\", \"own\"]");
    assert_eq!(Case::parse(&with_defaults).expect("the same case"), case);
    case.devices.set(0, DeviceObject::Own);
    assert!(case.devices.is_empty());
}

#[test]
fn a_step_that_is_made_again_is_made_on_its_own_output() {
    let halved = Case::new("tensor.affine").param("mul", 0.5).param("add", 1.0);
    let again = |times| Case { times: vec![Times::new(times).expect("a number of times")].into(), ..halved.clone() };
    let of = |times| {
        let start = Case::new("tensor.neg").input("x", floats(&[1], &[-4.0]));
        let case = Case { backward: Backward::Sum, ..sequence_of([start, again(times)]) };
        let observations = executor().observe(&case, Deadline::Full).expect("the harness survives");
        let Outcome::Returned(returned) = &observations[0].outcome else { panic!("{observations:?}") };
        let op = ops::find("sequence").expect("registered");
        (returned.outputs[0].floats(), judge(&Evidence::new(op, &case, &observations)))
    };
    assert_eq!(of(1), (vec![3.0], Verdict::Pass));
    assert_eq!(of(3), (vec![2.25], Verdict::Pass));
    // A step that returns another shape than it takes has nothing to be made on again.
    let summed =
        Case { times: vec![Times::new(2).expect("twice")].into(), ..Case::new("tensor.sum").param("form", "all") };
    let start = Case::new("tensor.neg").input("x", floats(&[2], &[1.0, 2.0]));
    assert_eq!(contract(&sequence_of([start, summed])), Contract::Unspecified(why::NOT_AGAIN));
}

#[test]
fn a_program_makes_each_step_where_and_as_often_as_the_case_says() {
    let mut case = sequence_of([
        Case::new("tensor.neg").input("x", floats(&[1], &[1.0])),
        Case::new("tensor.add").input("rhs", floats(&[1], &[2.0])),
    ]);
    case.devices.set(1, DeviceObject::OwnStream);
    case.times.set(1, Times::new(100).expect("a number of times"));
    let op = ops::find("sequence").expect("registered");
    let on = |device| {
        let options = ProgramOptions { device, comments: &[], outputs: &[] };
        program(op, &case, &options).expect("short inputs")
    };
    let (cpu, cuda) = (on(Device::Cpu), on(Device::Sim(0)));
    for line in ["for _ in 0..100 {", "lhs = output;"] {
        assert!(cpu.contains(line) && cuda.contains(line), "{line}\n{cpu}\n{cuda}");
    }
    for line in ["let own_stream = Device::new_cuda_with_stream(0)?;", "let lhs = lhs.to_device(&own_stream)?;"] {
        assert!(cuda.contains(line) && !cpu.contains("own_stream"), "{line}\n{cuda}");
    }
    assert!(cuda.contains("let rhs = Tensor::new(&[2f32], &own_stream)?;"), "{cuda}");
    let python = torch(op, &case).expect("PyTorch has them");
    assert!(python.contains("for _ in range(100):\n    output = "), "{python}");
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
        // Threads wait between their steps.
        let steps = case.steps.iter().filter(|step| *step != "state.synchronize");
        *lengths.entry(steps.count()).or_default() += 1;
    }
    let whole: u32 = lengths.range(2..=5).map(|(_, count)| count).sum();
    assert!(whole >= 475 && lengths.len() >= 4, "{lengths:?}");
}

fn floats(shape: &[usize], values: &[f64]) -> Tensor {
    Tensor::new(DType::F32, shape.to_vec(), values.iter().map(|&value| Value::Float(value)).collect())
}

fn sequence_of(steps: impl IntoIterator<Item = Case>) -> Case {
    Case::new("sequence").with_calls(steps.into_iter().collect())
}

fn contract(case: &Case) -> Contract {
    ops::find(&case.op).expect("an op").contract(case)
}

/// The positions of the largest elements of two rows, as ids of a table with this many rows.
fn largest_of_rows_in_a_table(rows: usize) -> Case {
    let largest = Case::new("tensor.argmax").param("dim", 1_usize);
    let table = floats(&[rows, 1], &(0..rows).map(|row| 10.0 * row as f64).collect::<Vec<_>>());
    sequence_of([
        largest.input("x", floats(&[2, 3], &[1.0, 3.0, 2.0, 5.0, 0.0, 1.0])),
        Case::new("layer.embedding").param("hidden", 1_usize).input("weight", table),
    ])
}

/// The classes of three rows, made of these floats.
fn converted_labels(labels: [f64; 3]) -> Case {
    let convert = Case::new("tensor.to_dtype").param("to", "u32").input("x", floats(&[3], &labels));
    sequence_of([convert, Case::new("loss.cross_entropy").input("inp", floats(&[3, 2], &[0.0; 6]))])
}

/// The elements of a row in the order of another row.
fn sorted_by(keys: &[f64]) -> Case {
    let sort = Case::new("tensor.arg_sort_last_dim").param("asc", 1_usize);
    sequence_of([
        sort.input("x", floats(&[1, 3], keys)),
        Case::new("tensor.gather").param("dim", 1_usize).input("x", floats(&[1, 3], &[10.0, 20.0, 30.0])),
    ])
}

#[test]
fn an_output_is_the_one_input_that_the_next_step_lacks() {
    let equal = Case::new("tensor.eq").input("lhs", floats(&[2], &[1.0, 2.0])).input("rhs", floats(&[2], &[1.0, 3.0]));
    let choice = Case::new("tensor.where_cond");
    let choice = choice.input("on_true", floats(&[2], &[1.0, 2.0])).input("on_false", floats(&[2], &[-1.0, -2.0]));
    let exp = Case::new("tensor.exp").input("x", floats(&[1, 2], &[0.0, 0.0]));
    let layer = Case::new("layer.linear").input("x", floats(&[1, 2], &[3.0, 4.0]));
    for (case, name, expected) in [
        (largest_of_rows_in_a_table(2), "ids", vec![10.0, 0.0]),
        (sorted_by(&[3.0, 1.0, 2.0]), "ids", vec![20.0, 30.0, 10.0]),
        (sequence_of([equal, choice]), "cond", vec![1.0, -2.0]),
        (converted_labels([0.0, 1.9, 1.0]), "target", vec![f64::from(2f32.ln())]),
        (sequence_of([exp, layer]), "weight", vec![7.0]),
    ] {
        let text = case.to_text();
        assert_eq!(sequence::steps(&case)[1].flowing, Some(name), "{text}");
        let (op, case) = ops::accept(Case::parse(&text).expect("its own text")).expect(&text);
        let observations = executor().observe(&case, Deadline::Full).expect("the harness survives");
        let Outcome::Returned(returned) = &observations[0].outcome else { panic!("{observations:?}") };
        assert_eq!(returned.outputs[0].floats(), expected, "{text}");
        assert_eq!(judge(&Evidence::new(op, &case, &observations)), Verdict::Pass, "{text}");
        let options = ProgramOptions { device: Device::Cpu, comments: &[], outputs: &[] };
        let rust = program(op, &case, &options).expect("short inputs");
        assert!(rust.contains(&format!("let {name} = ")), "{rust}");
        let python = torch(op, &case).expect("PyTorch has them");
        assert!(python.contains(&format!("\n{name} = output\n")), "{python}");
    }
}

/// A row of 32 numbers, `step` apart and no more than `count` different ones.
fn row(lowest: f64, step: f64, count: usize) -> Tensor {
    let numbers: Vec<f64> = (0..32).map(|place| lowest + step * (place * 7 % count) as f64).collect();
    floats(&[1, 32], &numbers)
}

/// Numbers that are quantized and back: by two steps, and by one call.
fn quantized(format: &str, numbers: &Tensor) -> [Case; 2] {
    let step = |op: &str, input: &str| Case::new(op).param("format", format).input(input, numbers.clone());
    let back = Case::new("quantized.dequantize").param("format", format);
    [sequence_of([step("quantized.data", "x"), back]), step("quantized.dequantize", "blocks")]
}

#[test]
fn a_quantized_matrix_can_be_given_by_value() {
    for (format, lowest, step, count) in [
        ("Q4_0", -4.0, 0.5, 16),
        ("Q4_0", 0.0, 0.0, 1),
        ("Q4_1", 1.0, 0.25, 16),
        ("Q5_0", -16.0, 1.0, 32),
        ("Q5_1", -3.0, 0.125, 32),
        ("Q8_0", -127.0, 8.0, 32),
        ("BF16", -2.0, 0.5, 8),
        ("F32", 0.1f32.into(), 0.0, 1),
    ] {
        let numbers = row(lowest, step, count);
        for case in quantized(format, &numbers) {
            let observations = executor().observe(&case, Deadline::Full).expect("the harness survives");
            let Outcome::Returned(returned) = &observations[0].outcome else { panic!("{observations:?}") };
            assert_eq!(returned.outputs[0].floats(), numbers.floats(), "{case:?}");
            assert!(matches!(contract(&case), Contract::Accepts { .. }), "{case:?}: {:?}", contract(&case));
            let op = ops::find(&case.op).expect("an op");
            assert_eq!(judge(&Evidence::new(op, &case, &observations)), Verdict::Pass, "{case:?}");
            let reference = op.reference().expect("one")(&ReferenceInputs::new(&case));
            assert_eq!(
                reference[0].iter().map(|number| number.value).collect::<Vec<_>>(),
                numbers.floats(),
                "{case:?}"
            );
        }
    }
    // With -8 the scale is 1, and 0.5 lies between two levels: the bytes are open, and each number is within a step.
    let [steps, call] = quantized("Q4_0", &row(-8.0, 0.5, 32));
    assert_eq!(contract(&steps), Contract::Unspecified(why::UNKNOWN_INTEGERS));
    assert!(matches!(contract(&call), Contract::Accepts { .. }));
    let reference = ops::find(&call.op).and_then(|op| op.reference()).expect("one")(&ReferenceInputs::new(&call));
    assert!(reference[0].iter().all(|number| (1.0..1.5).contains(&number.error)), "{reference:?}");
}

#[test]
fn an_id_out_of_range_that_a_step_makes_must_be_refused() {
    for (case, rule, named) in [
        (largest_of_rows_in_a_table(1), &rule::ID, "id 1 of dimension 0 of weight, whose size is 1"),
        (converted_labels([0.0, 2.0, 1.0]), &rule::LABEL, "label 2 of 2 classes"),
    ] {
        assert_eq!(contract(&case), Contract::Rejects(rule), "{}", case.to_text());
        let last = sequence::placed(&case).pop().expect("a step");
        assert_eq!(BadId::find(last.op, &last.call).expect("a bad id").to_string(), named);
    }
}

#[test]
fn ids_that_a_rounding_or_an_open_order_decides_are_not_judged() {
    let open = Contract::Unspecified(why::UNKNOWN_INTEGERS);
    assert_eq!(contract(&sorted_by(&[1.0, 1.0, 2.0])), open);
    // 0.1 + 0.2 and 0.3 are equal within a rounding.
    let sum = Case::new("tensor.add").input("lhs", floats(&[2], &[0.1, 1.0])).input("rhs", floats(&[2], &[0.2, 1.0]));
    let equal = Case::new("tensor.eq").input("rhs", floats(&[2], &[0.3, 2.0]));
    let choice = Case::new("tensor.where_cond").input("on_true", floats(&[2], &[1.0; 2]));
    assert_eq!(contract(&sequence_of([sum, equal, choice.input("on_false", floats(&[2], &[0.0; 2]))])), open);
}

#[test]
fn drawn_sequences_lead_integers_to_ids_labels_and_conditions() {
    let sequence = ops::find("sequence").expect("registered");
    let (mut led, mut others) = (std::collections::BTreeMap::<String, u32>::new(), 0);
    for index in 0..1000 {
        let case = Sample::nth(&[sequence], &[Mode::Valid], 3, index).drawn.case;
        for step in sequence::placed(&case) {
            let Some(name) = step.flowing else { continue };
            if step.op.inputs.iter().any(|spec| spec.name == name && spec.discrete) {
                *led.entry(format!("{} {name}", step.op.name)).or_default() += 1;
            }
            others += u32::from(name != step.op.support.of);
        }
    }
    assert!(led.len() >= 8 && led.values().sum::<u32>() >= 90 && others >= 200, "{others} {led:?}");
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

#[test]
fn every_reference_reads_the_input_that_flows() {
    let mut wrong = std::collections::BTreeSet::new();
    let mut compared = 0;
    for op in ops::ALL.iter().filter(|op| !op.is_relation()) {
        let Some(reference) = op.reference() else { continue };
        for index in 0..40 {
            let case = Sample::nth(&[op], &[Mode::Valid], 5, index).drawn.case.contiguous();
            if !matches!(op.contract(&case), Contract::Accepts { .. }) {
                continue;
            }
            let alone = ReferenceInputs::new(&case);
            for spec in op.inputs.iter().filter(|spec| !spec.optional && !spec.discrete) {
                let Some(numbers) = alone.optional(spec.name) else { continue };
                let tensor = &case.inputs[spec.name];
                // Integers have their values in the case, too.
                let Some(elements) = tensor.elements().filter(|_| tensor.dtype.is_float()) else { continue };
                let zeros = Tensor::new(tensor.dtype, tensor.shape.clone(), vec![Value::Float(0.0); elements]);
                let placed = case.clone().input(spec.name, zeros);
                let flowing = Some((spec.name, numbers));
                let (own, flown) =
                    (reference(&alone), reference(&ReferenceInputs { flowing, ..ReferenceInputs::new(&placed) }));
                if flown.is_empty() {
                    continue;
                }
                let text = |outputs: &[ndarray::ArrayD<snuffer::number::Num>]| format!("{outputs:?}");
                compared += 1;
                if text(&own) != text(&flown) {
                    wrong.insert(format!("{} {}", op.name, spec.name));
                }
            }
        }
    }
    assert!(wrong.is_empty() && compared > 2000, "{compared} compared; these read the case instead: {wrong:#?}");
}

#[test]
fn steps_that_write_twice_to_one_place_race_as_single_calls_do() {
    let ids = |keys: [f64; 2]| Case::new("tensor.to_dtype").param("to", "u32").input("x", floats(&[2], &keys));
    let write = Case::new("tensor.scatter").input("x", floats(&[3], &[0.0; 3])).input("src", floats(&[2], &[1.0, 2.0]));
    assert!(ops::has_rivals(&sequence_of([ids([1.0, 1.9]), write.clone()])));
    assert!(!ops::has_rivals(&sequence_of([ids([1.0, 2.0]), write])));
}

#[test]
fn what_an_overflow_or_an_open_order_decides_is_unknown_to_later_steps() {
    let order = Case::new("tensor.arg_sort_last_dim").input("x", floats(&[2], &[0.0, 0.0]));
    let cast = Case::new("tensor.to_dtype").param("to", "u32").input("x", floats(&[1], &[-5.0]));
    let greater = || Case::new("tensor.ge").param("form", "scalar");
    let again = greater().param("scalar", 1.0);
    let overflow = Case::new("tensor.mul_scalar").param("scalar", 2.0).input("x", floats(&[1], &[f64::from(f32::MAX)]));
    let zero = || Case::new("tensor.mul_scalar").param("scalar", 0.0);
    let infinite = Case::new("tensor.lt").param("form", "scalar").param("scalar", f64::from(f32::MAX));
    let x = Tensor::new(DType::F16, vec![1], vec![Value::Float(-15.0)]);
    let silu = Case::new("tensor.silu").input("x", x);
    for case in [
        sequence_of([order, Case::new("tensor.max").param("dim", 0_usize)]),
        sequence_of([cast, greater(), again]),
        sequence_of([overflow.clone(), zero(), greater()]),
        sequence_of([overflow.clone(), zero(), Case::new("tensor.ceil")]),
        sequence_of([overflow, infinite]),
        // In half precision the sigmoid of -15 may be 0.
        sequence_of([silu, Case::new("tensor.lt").param("form", "scalar")]),
    ] {
        let observations = executor().observe(&case, Deadline::Full).expect("the harness survives");
        let evidence = Evidence::new(ops::find("sequence").expect("an op"), &case, &observations);
        assert!(!matches!(judge(&evidence), Verdict::Fail(_)), "{:?}", judge(&evidence));
        let expected = evidence.expected().expect("a reference");
        assert!(
            expected[0].iter().all(|number| number.indeterminate || !number.error.is_finite() || number.peak > 3e38),
            "{expected:?} {}",
            case.to_text()
        );
    }
}
