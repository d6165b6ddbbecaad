//! Inputs that lie in one buffer: they are drawn, candle gets them so, and what only they show is a finding.

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::exec::{Executor, WorkerSpec};
use snuffer::generate::Mode;
use snuffer::hunt::Sample;
use snuffer::ops;
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::outcome::{Observation, Outcome, Returned};
use snuffer::program::{ProgramOptions, program, torch};
use snuffer::settle::minimize::{Minimized, minimize};
use snuffer::tensor::{DType, Tensor, Value};

/// `x` and `src` of `op`, in one buffer of three elements: `src` begins at its second one.
fn overlapping(op: &str) -> Case {
    let text = format!(
        "op = \"{op}\"\n[inputs.x]\ndtype = \"i64\"\nshape = [3]\nvalues.list = [0, 1, 2]\n\
         [inputs.src]\ndtype = \"i64\"\nshape = [2]\nview = {{ of = \"x\", offset = 1 }}\nvalues.list = [1, 2]\n"
    );
    Case::parse(&text).expect("a case")
}

/// All of `x`, and all of it again as its ids.
fn own_ids(op: &str) -> Case {
    let of =
        |name: &str, view: &str| format!("[inputs.{name}]\ndtype = \"i64\"\nshape = [2]\n{view}values.list = [1, 0]\n");
    let text = format!("op = \"{op}\"\n{}{}", of("x", ""), of("ids", "view.of = \"x\"\n"));
    Case::parse(&text).expect("a case")
}

fn executor_on_cpu() -> Executor {
    Executor::start(&[Device::Cpu], &WorkerSpec::default()).expect("a worker starts")
}

fn guest(case: &Case) -> Option<&Tensor> {
    case.inputs.values().find(|tensor| tensor.view.of.is_some())
}

#[test]
fn cases_with_inputs_in_one_buffer_are_drawn() {
    let (mut same, mut overlap, mut behind, mut ids) = (0, 0, 0, 0);
    for index in 0..40_000 {
        let case = Sample::nth(ops::ALL, &[Mode::Valid], 3, index).drawn.case;
        let Some((name, guest)) = case.inputs.iter().find(|(_, tensor)| tensor.view.of.is_some()) else { continue };
        let [shared] = &case.shared()[..] else { panic!("one buffer\n{}", case.to_text()) };
        let [(owner, _, length), (_, start, own)] = &shared.parts[..] else { panic!("two parts: {:?}", shared.parts) };
        let alike = (*start, length) == (0, own) && case.inputs[owner].shape == guest.shape;
        same += usize::from(alike);
        behind += usize::from(start >= length);
        overlap += usize::from(!alike && start < length);
        ids += usize::from(name == "ids" || owner == "ids");
        assert_eq!(case.check().map_err(|error| error.to_string()), Ok(()));
        assert!(case.contiguous().is_plain() && !case.is_plain());
    }
    assert!(same > 100 && overlap > 100 && behind > 10 && ids > 0, "{same} {overlap} {behind} {ids}");
}

/// candle documents that it refuses such a call, so it does if and only if it gets two tensors of one storage.
#[test]
fn a_worker_puts_them_into_one_storage() {
    let case = overlapping("tensor.slice_set");
    let mut executor = executor_on_cpu();
    let Outcome::Rejected(refusal) = executor.run(&case).expect("the harness survives") else { panic!("not refused") };
    assert!(refusal.message.contains("share their storage"), "{}", refusal.message);
    let Outcome::Returned(returned) = executor.run(&case.contiguous()).expect("the harness survives") else {
        panic!("refused")
    };
    assert_eq!(returned.outputs[0].ints(), [1, 2, 2]);
    let gather = own_ids("tensor.gather");
    assert!(matches!(executor.run(&gather), Ok(Outcome::Returned(returned)) if returned.outputs[0].ints() == [0, 1]));
}

/// What candle would return if it read what it has just written.
#[test]
fn a_result_that_is_wrong_only_because_of_the_buffer_is_a_finding() {
    let case = overlapping("tensor.slice_set");
    let op = ops::find(&case.op).expect("an op");
    let of = |values: [i64; 3]| {
        let output = Tensor::new(DType::I64, vec![3], values.map(Value::Int).to_vec());
        Outcome::Returned(Returned { outputs: vec![output], ..Returned::default() })
    };
    let judged = |viewed: Outcome| {
        let seen = [Observation { contiguous: Some(of([1, 2, 2])), ..Observation::new(Device::Cpu, viewed) }];
        match judge(&Evidence::new(op, &case, &seen)) {
            Verdict::Fail(violations) => format!("{}: {}", violations[0].kind, violations[0].site),
            other => format!("{other:?}"),
        }
    };
    assert_eq!(judged(of([1, 2, 2])), "Pass");
    assert_eq!(judged(of([1, 1, 1])), "wrong value: in a view, of integers");
}

/// Nothing says that `scatter_set` may read what it writes.
#[test]
fn a_write_in_place_may_be_refused_because_of_the_buffer() {
    let mut case = overlapping("tensor.scatter_set");
    let ids = Tensor::new(DType::I64, vec![2], vec![Value::Int(0); 2]);
    case = case.input("ids", ids);
    let refused = executor_on_cpu().run(&case).expect("the harness survives");
    assert!(matches!(refused, Outcome::Rejected(_)));
    let contiguous = executor_on_cpu().run(&case.contiguous()).expect("the harness survives");
    let seen = [Observation { contiguous: Some(contiguous), ..Observation::new(Device::Cpu, refused) }];
    let verdict = judge(&Evidence::new(ops::find(&case.op).expect("an op"), &case, &seen));
    assert_eq!(verdict, Verdict::Pass);
}

#[test]
fn a_case_that_contradicts_itself_is_refused() {
    let text = overlapping("tensor.slice_set").to_text();
    let problem = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        Case::parse(&text.replace(from, to)).expect_err(to).to_string()
    };
    let of = "of = \"x\"";
    assert!(problem("list = [1, 2]", "list = [1, 3]").contains("differs from the same element"));
    assert!(problem(of, "of = \"y\"").contains("which the case does not have"));
    assert!(problem(of, "of = \"src\"").contains("its own buffer"));
    assert!(problem(of, "").contains("without `of`"));
    assert!(problem("dtype = \"i64\"\nshape = [3]", "dtype = \"u32\"\nshape = [3]").contains("a different dtype"));
    assert!(problem("offset = 1", "offset = 99999999").contains("ends past"));
    assert_eq!(Case::parse(&text).expect("a case"), overlapping("tensor.slice_set"));
}

#[test]
fn what_does_not_need_the_buffer_is_shown_without_it_and_what_does_keeps_it() {
    let case = (0..20_000).map(|index| Sample::nth(ops::ALL, &Mode::ALL, 9, index).drawn.case);
    let case =
        case.into_iter().find(|case| guest(case).is_some_and(|guest| guest.view.offset > 0)).expect("one is drawn");
    let minimized = |fails: fn(&Case) -> bool| {
        let minimized: Result<Minimized, ()> = minimize(case.clone(), |candidate| Ok(Some(fails(candidate))));
        minimized.expect("no attempt fails").case
    };
    assert!(minimized(|case| case.inputs.len() >= 2).is_plain());
    let small = minimized(|case| guest(case).is_some());
    assert_eq!((small.inputs.len(), guest(&small).map(|guest| guest.view.offset)), (2, Some(0)), "{}", small.to_text());
    assert!(small.inputs.values().all(|tensor| tensor.floats() == [0.0]), "{}", small.to_text());
}

#[test]
fn programs_and_scripts_make_one_buffer() {
    let case = overlapping("tensor.slice_set");
    let op = ops::find(&case.op).expect("an op");
    let rust =
        program(op, &case, &ProgramOptions { device: Device::Cpu, comments: &[], outputs: &[] }).expect("a program");
    for line in [
        "let x_buffer = Tensor::new(&[0i64, 1, 2], &device)?;",
        "let x = x_buffer.clone();",
        "let src = x_buffer.narrow(0, 1, 2)?;",
    ] {
        assert!(rust.contains(line), "{line} is not in\n{rust}");
    }
    let python = torch(op, &case).expect("a script");
    assert!(python.contains("x = x_buffer\n") && python.contains("src = x_buffer.narrow(0, 1, 2)\n"), "{python}");
}
