//! Properties that hold for every op of the registry.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

use proptest::prelude::{ProptestConfig, Strategy, any};
use proptest::test_runner::{RngSeed, TestRunner};
use snuffer::case::{Case, Kind};
use snuffer::device::Device;
use snuffer::exec::{Deadline, Executor, WorkerSpec};
use snuffer::generate::{Mode, sample};
use snuffer::ops::{self, Contract, Op, ReferenceInputs};
use snuffer::oracle::{Evidence, ORACLES, OracleName, Verdict};
use snuffer::outcome::{Observation, Outcome};
use snuffer::tensor::{DType, Tensor, Value};

const CASES: u32 = 400;

/// Calls `visit` with cases of `op`, the same ones each time. proptest does not shrink: it could only change the seed. Use
/// `snuffer minimize`.
fn for_cases(op: &'static Op, mode: Mode, mut visit: impl FnMut(Case)) {
    let config = ProptestConfig {
        cases: CASES,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let cell = std::cell::RefCell::new(&mut visit);
    TestRunner::new(config)
        .run(&any::<u64>().no_shrink(), |seed| {
            (cell.borrow_mut())(sample(op.name, op.generate, mode, seed, 0).case);
            Ok(())
        })
        .expect("no case fails: the facts are asserted outside");
}

#[test]
fn at_least_95_percent_of_valid_cases_keep_the_contract() {
    for op in ops::ALL {
        let mut others = BTreeMap::<String, u32>::new();
        for_cases(op, Mode::Valid, |case| {
            let contract = op.contract(&case);
            if !matches!(contract, Contract::Accepts { .. }) {
                *others.entry(format!("{contract:?}")).or_default() += 1;
            }
        });
        let count: u32 = others.values().sum();
        assert!(count * 20 <= CASES, "{}: {count} of {CASES} are not accepted: {others:?}", op.name);
    }
}

#[test]
fn adversarial_mode_leaves_the_contract_often() {
    for op in ops::ALL.iter().filter(|op| op.name != "canary") {
        let (mut broken, mut arguments) = (0, 0);
        for_cases(op, Mode::Adversarial, |case| {
            broken += u32::from(!matches!(op.contract(&case), Contract::Accepts { .. }));
            let is_flag =
                |name: &str| op.params.iter().any(|spec| spec.name == name && matches!(spec.kind, Kind::Flag));
            let params = case.params.iter().filter(|(name, _)| !is_flag(name));
            let numbers = params.filter(|(_, param)| !param.numbers().is_empty()).count();
            arguments = arguments.max(case.inputs.len() + numbers);
        });
        // A single tensor can only have a wrong dtype. Flags stay flags, and text params are never changed.
        let least = if arguments > 1 { CASES / 10 } else { 0 };
        assert!(broken >= least, "{}: only {broken} of {CASES} leave the contract", op.name);
    }
}

#[test]
fn every_drawn_case_is_well_formed_and_survives_its_text() {
    for op in ops::ALL {
        for mode in Mode::ALL {
            for_cases(op, mode, |case| {
                assert!(case.check().is_ok(), "{:?}\n{}", case.check(), case.to_text());
                assert_eq!(Case::parse(&case.to_text()).expect("its own text"), case);
            });
        }
    }
}

#[test]
fn references_have_the_shapes_that_contracts_promise() {
    for op in ops::ALL {
        let Some(reference) = op.reference() else { continue };
        for mode in Mode::ALL {
            for_cases(op, mode, |case| {
                let Contract::Accepts { outputs, .. } = op.contract(&case) else { return };
                let computed = reference(&ReferenceInputs::new(&case));
                let shapes: Vec<_> = computed.iter().map(|output| output.shape().to_vec()).collect();
                let promised: Vec<_> = outputs.into_iter().map(|(_, shape)| shape).collect();
                assert_eq!(shapes, promised, "{}", case.to_text());
            });
        }
    }
}

/// Fuzzers splice cases: an input that the op does not have must not change the expectation.
#[test]
fn references_ignore_inputs_that_the_contract_does_not_have() {
    let mut names: Vec<String> = Vec::new();
    for op in ops::ALL {
        for_cases(op, Mode::Valid, |case| names.extend(case.inputs.into_keys()));
    }
    names.sort();
    names.dedup();
    assert!(names.len() > 20 && names.contains(&"bias".to_string()));
    let (mut compared, mut readers) = (0, Vec::new());
    for op in ops::ALL {
        let Some(reference) = op.reference() else { continue };
        for_cases(op, Mode::Valid, |case| {
            let strays = names.iter().filter(|name| !case.inputs.contains_key(*name));
            let Some(stray) = strays.cycle().nth(case.to_text().len()) else { return };
            let with_stray = case.clone().input(stray, Tensor::new(DType::F32, Vec::new(), vec![Value::Float(2.0)]));
            let contract = op.contract(&case);
            if matches!(contract, Contract::Accepts { .. }) && op.contract(&with_stray) == contract {
                let bits = |case: &Case| -> Vec<u64> {
                    reference(&ReferenceInputs::new(case))
                        .iter()
                        .flatten()
                        .map(|number| number.value.to_bits())
                        .collect()
                };
                let alike = std::panic::catch_unwind(AssertUnwindSafe(|| bits(&with_stray) == bits(&case)));
                compared += 1;
                if !matches!(alike, Ok(true)) {
                    readers.push(format!("{} reads `{stray}`", op.name));
                }
            }
        });
    }
    assert!(compared > 50_000, "only {compared} cases with a stray input were compared");
    assert_eq!(readers, [""; 0]);
}

fn executor() -> Executor {
    Executor::start(&[Device::Cpu], &WorkerSpec::default()).expect("a worker starts")
}

/// The percentage of an op's valid cases that the reference oracle must judge. The others refuse a view or contain
/// infinities.
const REACHED: u32 = 50;

#[test]
fn valid_cases_reach_the_value_oracles() {
    let mut executor = executor();
    let mut gradients = 0;
    // What only CUDA devices have is not judged here.
    for op in ops::ALL.iter().filter(|op| op.reference().is_some() && !op.support.cpu.is_empty()) {
        let mut reached = 0;
        for_cases(op, Mode::Valid, |case| {
            let seen = executor.observe(&case, Deadline::Short).expect("the harness survives");
            let evidence = Evidence::new(op, &case, &seen);
            for oracle in ORACLES {
                let judged = !matches!((oracle.judge)(&evidence, &seen[0]), Verdict::Skip(_));
                reached += u32::from(judged && oracle.name == OracleName::Reference);
                gradients += u32::from(judged && oracle.name == OracleName::Gradient);
            }
        });
        assert!(reached * 100 >= CASES * REACHED, "{}: the reference judged {reached} of {CASES}", op.name);
    }
    assert!(gradients > 10 * CASES / 4, "gradients judged only {gradients} times");
}

#[test]
fn a_wrong_value_a_lost_gradient_and_an_accepted_label_are_violations() {
    let nll = ops::find("loss.nll").expect("registered");
    let text = "op = \"loss.nll\"\nbackward = \"sum\"\n\
        [inputs.inp]\ndtype = \"f32\"\nshape = [1, 2]\nvalues = { list = [0.5, 1.0] }\n\
        [inputs.target]\ndtype = \"u32\"\nshape = [1]\nvalues = { list = [1] }\n";
    let case = Case::parse(text).expect("a case");
    let honest = executor().run(&case).expect("the harness survives");
    let judged = |case: &Case, outcome: Outcome| {
        let seen = [Observation::new(Device::Cpu, outcome)];
        snuffer::oracle::judge(&Evidence::new(nll, case, &seen))
    };
    assert_eq!(judged(&case, honest.clone()), Verdict::Pass);
    let Outcome::Returned(returned) = honest else { panic!("nll of a valid label returns") };
    let kind = |verdict| match verdict {
        Verdict::Fail(violations) => {
            violations.iter().map(|it| format!("{} {}", it.oracle, it.kind)).collect::<Vec<_>>().join(", ")
        }
        other => format!("{other:?}"),
    };

    let mut wrong = returned.clone();
    wrong.outputs[0].values = snuffer::tensor::Values::List(vec![snuffer::tensor::Value::Float(-0.5)]);
    assert_eq!(kind(judged(&case, Outcome::Returned(wrong))), "reference wrong value");

    let mut lost = returned.clone();
    lost.backward = snuffer::outcome::Gradients::Returned(snuffer::outcome::Store {
        missing: vec!["inp".to_string()],
        ..Default::default()
    });
    assert_eq!(kind(judged(&case, Outcome::Returned(lost))), "gradient missing");

    let outside = Case::parse(&text.replace("list = [1] ", "list = [2] ")).expect("a case");
    assert_eq!(kind(judged(&outside, Outcome::Returned(returned))), "contract invalid not refused");
}

#[test]
fn a_wrong_second_derivative_is_a_violation() {
    let mse = ops::find("loss.mse").expect("registered");
    let text = "op = \"loss.mse\"\nbackward = \"twice\"\n\
        [inputs.inp]\ndtype = \"f64\"\nshape = [2]\nvalues = { list = [0.5, 1.0] }\n\
        [inputs.target]\ndtype = \"f64\"\nshape = [2]\nvalues = { list = [0.25, 3.0] }\n";
    let case = Case::parse(text).expect("a case");
    let Outcome::Returned(mut returned) = executor().run(&case).expect("the harness survives") else {
        panic!("mse returns")
    };
    let judged = |outcome: Outcome| {
        let seen = [Observation::new(Device::Cpu, outcome)];
        let evidence = Evidence::new(mse, &case, &seen);
        let oracle = ORACLES.iter().find(|oracle| oracle.name == OracleName::SecondDerivative).expect("an oracle");
        (oracle.judge)(&evidence, &seen[0])
    };
    assert_eq!(judged(Outcome::Returned(returned.clone())), Verdict::Pass);
    let snuffer::outcome::Gradients::Returned(store) = &mut returned.backward else { panic!("mse has gradients") };
    assert_eq!(store.second["inp"].floats(), [1.0, 2.0], "2 / n times the weights 1 and 2");
    store.second.insert("inp".to_string(), store.gradients["inp"].clone());
    assert!(matches!(judged(Outcome::Returned(returned)), Verdict::Fail(_)));
}
